#include "cli/duration.h"

#include <fmt/format.h>

#include <charconv>

#include "platform/quoted_text.h"
#include "platform/time.h"

namespace giftsync::cli {
namespace {

std::optional<std::int64_t> unit_millis(std::string_view unit) {
  if (unit == "s") return platform::kSecondMillis;
  if (unit == "m") return platform::kMinuteMillis;
  if (unit == "h") return platform::kHourMillis;
  if (unit == "d") return platform::kDayMillis;
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
  constexpr std::int64_t kMax = kMaxDurationDays * platform::kDayMillis;
  if (!millis || count > kMax / *millis) return std::nullopt;
  return count * *millis;
}

std::string duration_fault(const std::string& text) {
  if (parse_duration(text)) return {};
  return fmt::format(
      "found {}; allowed: a number with s, m, h or d such as 24h, at most {}d; 0 ends the old key now",
      platform::in_quotes(text), kMaxDurationDays);
}

}  // namespace giftsync::cli
