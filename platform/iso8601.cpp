#include "platform/iso8601.h"

#include <string>

namespace giftsync::platform {
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
  return time && ends_day ? *time + kDayMillis : time;
}

}  // namespace giftsync::platform
