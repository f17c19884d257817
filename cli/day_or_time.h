// cli: days and times on the command line: 2026-10-31, 2026-10-31T08:00:00Z, 7d (seven days ago). Days are
// UTC.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "platform/time.h"

namespace giftsync::cli {

/// Whether it is a day without a time.
bool is_day(const std::string& text);

/// A day is its first moment, a duration is that long before `now`. Empty for any other text.
std::optional<platform::UtcMillis> parse_day_or_time(const std::string& text, platform::UtcMillis now);

/// Refuses everything that parse_day_or_time() cannot read.
CLI::Validator day_or_time();

}  // namespace giftsync::cli
