// cli: days and times on the command line: 2026-10-31, today, 2026-10-31T08:00:00Z, 7d (seven days ago).
// Days are UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cli/command_tree.h"
#include "platform/time.h"

namespace giftsync::cli {

/// Whether it is a day without a time.
bool is_day(const std::string& text);

/// A day is its first moment, a duration is that long before `now`. Empty for any other text.
std::optional<UtcMillis> parse_day_or_time(const std::string& text, UtcMillis now);

/// Refuses everything that parse_day_or_time() cannot read.
Check day_or_time();

// Durations on the command line: 90s, 30m, 24h, 7d, 0.

inline constexpr std::int64_t kMaxDurationDays = 365;

/// Milliseconds; empty for a text that is not a duration, has no unit (except 0) or exceeds kMaxDurationDays.
std::optional<std::int64_t> parse_duration(std::string_view text);

/// What was found and what is allowed; empty for a valid duration.
std::string duration_fault(const std::string& text);

}  // namespace giftsync::cli
