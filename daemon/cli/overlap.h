// daemon/cli: spans of time as an admin writes them: 90s, 30m, 24h, 7d, 0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::daemon {

inline constexpr std::int64_t kMostOverlapDays = 365;

/// Milliseconds; empty for anything else, a span without a unit (but 0) and beyond kMostOverlapDays.
std::optional<std::int64_t> overlap_millis(std::string_view text);

/// What was found and what is allowed; empty when the text is good.
std::string overlap_fault(const std::string& text);

}  // namespace giftsync::daemon
