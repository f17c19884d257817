#include "daemon/cli/overlap.h"

#include <fmt/format.h>

#include <charconv>

#include "daemon/settings/settings_fault.h"
#include "schema/time.h"

namespace giftsync::daemon {
namespace {

std::optional<std::int64_t> unit_millis(std::string_view unit) {
  if (unit == "s") return schema::kSecondMillis;
  if (unit == "m") return schema::kMinuteMillis;
  if (unit == "h") return schema::kHourMillis;
  if (unit == "d") return schema::kDayMillis;
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> overlap_millis(std::string_view text) {
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || count < 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (count == 0 && unit.empty()) return 0;
  const auto millis = unit_millis(unit);
  constexpr std::int64_t kMost = kMostOverlapDays * schema::kDayMillis;
  if (!millis || count > kMost / *millis) return std::nullopt;
  return count * *millis;
}

std::string overlap_fault(const std::string& text) {
  if (overlap_millis(text)) return {};
  return fmt::format(
      "found {}; allowed: a number with s, m, h or d such as 24h, at most {}d; 0 ends the old key at once",
      in_quotes(text), kMostOverlapDays);
}

}  // namespace giftsync::daemon
