#include "cli/day_or_time.h"

#include <fmt/format.h>

#include <charconv>

#include "platform/visible_text.h"

namespace giftsync::cli {

namespace {

constexpr std::string_view kToday = "today";

}  // namespace

bool is_day(const std::string& text) {
  return text == kToday || (text.size() == std::string_view("2026-10-31").size() &&
                            from_rfc3339(text + "T00:00:00Z").has_value());
}

std::optional<UtcMillis> parse_day_or_time(const std::string& text, UtcMillis now) {
  if (const auto age = parse_duration(text)) return now - *age;
  if (text == kToday) return now - now.value % kDayMillis;
  return from_rfc3339(is_day(text) ? text + "T00:00:00Z" : text);
}

Check day_or_time() {
  return {
      [](const std::string& text) -> std::string {
        if (parse_day_or_time(text, {})) return {};
        return "found " + in_quotes(text) +
               "; allowed: a day such as 2026-10-31, today, a time such as 2026-10-31T08:00:00Z, or how long "
               "ago, such as 24h or 7d";
      },
      ""};
}

namespace {

std::optional<std::int64_t> unit_millis(std::string_view unit) {
  if (unit == "s") return kSecondMillis;
  if (unit == "m") return kMinuteMillis;
  if (unit == "h") return kHourMillis;
  if (unit == "d") return kDayMillis;
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> parse_duration(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (count == 0 && unit.empty()) return 0;
  const auto millis = unit_millis(unit);
  constexpr std::int64_t kMax = kMaxDurationDays * kDayMillis;
  if (!millis || count > kMax / *millis) return std::nullopt;
  return count * *millis;
}

std::string duration_fault(const std::string& text) {
  if (parse_duration(text)) return {};
  return fmt::format(
      "found {}; allowed: a number with s, m, h or d such as 24h, at most {}d; 0 ends the old key now",
      in_quotes(text), kMaxDurationDays);
}

}  // namespace giftsync::cli
