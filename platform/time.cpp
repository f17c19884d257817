#include "platform/time.h"

#include <chrono>

namespace giftsync {
namespace {

/// Parses `digits` decimal digits at `at`; -1 for anything else.
int number_at(std::string_view text, std::size_t at, std::size_t digits) {
  if (at + digits > text.size()) return -1;
  int value = 0;
  for (char c : text.substr(at, digits)) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// ".123456" at `at`: sets the milliseconds and moves `at` after the digits. False when the dot has no
/// digits.
bool read_fraction(std::string_view text, std::size_t& at, int& millis) {
  if (at >= text.size() || text[at] != '.') return true;
  const std::size_t first = ++at;
  for (int weight = 100; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, weight /= 10) {
    millis += (text[at] - '0') * weight;
  }
  return at > first;
}

/// "Z" or "+hh:mm" at `at`, up to the end of the text; minutes east of UTC.
std::optional<int> read_zone(std::string_view text, std::size_t at) {
  const std::string_view zone = text.substr(std::min(at, text.size()));
  if (zone == "Z" || zone == "z") return 0;
  if (zone.size() != 6 || (zone[0] != '+' && zone[0] != '-') || zone[3] != ':') return std::nullopt;
  const int hours = number_at(zone, 1, 2);
  const int minutes = number_at(zone, 4, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return (zone[0] == '-' ? -1 : 1) * (hours * 60 + minutes);
}

/// Empty where the year in UTC is not 1 to 9999: the text of a time has four digits for it.
std::optional<UtcMillis> within_four_digits(UtcMillis time) {
  using namespace std::chrono;
  const auto begin_of = [](int number) {
    return duration_cast<milliseconds>(sys_days{year{number} / 1 / 1}.time_since_epoch()).count();
  };
  return time.value >= begin_of(1) && time.value < begin_of(10'000) ? std::optional(time) : std::nullopt;
}

}  // namespace

std::string to_rfc3339(UtcMillis time) {
  using namespace std::chrono;
  const sys_time<milliseconds> point{milliseconds{time.value}};
  const sys_days day = floor<days>(point);
  const year_month_day date{day};
  const hh_mm_ss clock{point - day};
  // Formatted without a library: this runs for every time of every record.
  std::string text;
  text.reserve(32);
  const auto append = [&](auto number, std::size_t digits, char behind) {
    const std::string written = std::to_string(number);
    if (written.size() < digits) text.append(digits - written.size(), '0');
    text += written;
    text += behind;
  };
  append(static_cast<int>(date.year()), 4, '-');
  append(static_cast<unsigned>(date.month()), 2, '-');
  append(static_cast<unsigned>(date.day()), 2, 'T');
  append(clock.hours().count(), 2, ':');
  append(clock.minutes().count(), 2, ':');
  append(clock.seconds().count(), 2, '.');
  append(clock.subseconds().count(), 3, 'Z');
  return text;
}

std::string minute_text(UtcMillis time) {
  return to_rfc3339(time).substr(0, std::string_view("2026-11-21T12:31").size()).replace(10, 1, " ");
}

std::optional<UtcMillis> from_rfc3339(std::string_view text) {
  using namespace std::chrono;
  if (text.size() < 20 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return std::nullopt;
  const year_month_day date{year{number_at(text, 0, 4)}, month(static_cast<unsigned>(number_at(text, 5, 2))),
                            day(static_cast<unsigned>(number_at(text, 8, 2)))};
  const int hour = number_at(text, 11, 2);
  const int minute = number_at(text, 14, 2);
  const int second = number_at(text, 17, 2);
  if (!date.ok() || int(date.year()) < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || second > 60) {
    return std::nullopt;
  }
  std::size_t at = 19;
  int millis = 0;
  if (!read_fraction(text, at, millis)) return std::nullopt;
  const std::optional<int> east_minutes = read_zone(text, at);
  if (!east_minutes) return std::nullopt;
  const auto days_millis = duration_cast<milliseconds>(sys_days{date}.time_since_epoch()).count();
  const std::int64_t clock_seconds = hour * 3600 + minute * 60 + second - *east_minutes * 60;
  return within_four_digits({days_millis + clock_seconds * kSecondMillis + millis});
}

namespace {

/// Takes parts from the beginning of a text. After a part that is missing, has_fault() is true.
class TimeScanner {
 public:
  explicit TimeScanner(std::string_view rest) : rest_(rest) {}

  bool has_fault() const { return has_fault_ || !rest_.empty(); }
  bool at_digit() const { return !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9'; }
  std::string digits(std::size_t count) {
    std::string taken;
    for (; taken.size() < count && at_digit(); rest_.remove_prefix(1)) taken += rest_.front();
    has_fault_ = has_fault_ || taken.size() < count;
    return taken;
  }
  /// The next character if it is one of `characters`, else NUL.
  char take(std::string_view characters) {
    if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) return '\0';
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }
  char require(std::string_view characters) {
    const char taken = take(characters);
    has_fault_ = has_fault_ || taken == '\0';
    return taken;
  }
  std::string all_digits() {
    std::string taken = digits(1);
    while (at_digit()) taken += digits(1);
    return taken;
  }

 private:
  std::string_view rest_;
  bool has_fault_ = false;
};

/// "Z" or "+hh:mm" for what is left.
std::string scan_zone(TimeScanner& scanner) {
  scanner.take(" ");
  if (scanner.take("Zz") != '\0') return "Z";
  const char sign = scanner.require("+-");
  const std::string hours = scanner.digits(2);
  const bool has_minutes = scanner.take(":") != '\0' || scanner.at_digit();
  return sign + hours + ":" + (has_minutes ? scanner.digits(2) : "00");
}

}  // namespace

std::optional<UtcMillis> from_iso8601(std::string_view text) {
  if (const auto time = from_rfc3339(text)) return time;
  TimeScanner scanner(text);
  std::string date = scanner.digits(4);
  const bool is_basic = scanner.at_digit();
  for (int part = 0; part < 2; ++part) {
    if (!is_basic) scanner.require("-");
    date += "-" + scanner.digits(2);
  }
  scanner.require("Tt ");
  std::string hour = scanner.digits(2);
  const bool has_colons = scanner.take(":") != '\0';
  std::string clock = ":" + scanner.digits(2) + ":";
  const bool has_seconds = has_colons ? scanner.take(":") != '\0' : scanner.at_digit();
  clock += has_seconds ? scanner.digits(2) : "00";
  if (has_seconds && scanner.take(".,") != '\0') clock += "." + scanner.all_digits();
  const bool ends_day = hour == "24" && clock.find_first_not_of(":.0") == std::string::npos;
  if (ends_day) hour = "00";
  const std::string zone = scan_zone(scanner);
  if (scanner.has_fault()) return std::nullopt;
  const auto time = from_rfc3339(date + "T" + hour + clock + zone);
  return time && ends_day ? within_four_digits(*time + kDayMillis) : time;
}

}  // namespace giftsync
