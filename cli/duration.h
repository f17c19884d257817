// cli: durations on the command line: 90s, 30m, 24h, 7d, 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::cli {

inline constexpr std::int64_t kMaxDurationDays = 365;

/// Milliseconds; empty for a text that is not a duration, has no unit (except 0) or exceeds kMaxDurationDays.
std::optional<std::int64_t> parse_duration(std::string_view text);

/// What was found and what is allowed; empty for a valid duration.
std::string duration_fault(const std::string& text);

}  // namespace giftsync::cli
