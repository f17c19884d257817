#include "platform/time.h"

#include <chrono>

namespace giftsync::platform {
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
  return UtcMillis{days_millis + clock_seconds * kSecondMillis + millis};
}

}  // namespace giftsync::platform
