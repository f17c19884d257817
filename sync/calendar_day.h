// sync: calendar days of a time zone, from the system's zone data. A day begins at its first moment: where
// the clocks jump over 00:00 that is the jump; where 00:00 occurs twice it is the first one.
#pragma once

#include <string>

#include "platform/time.h"

namespace giftsync::sync {

/// Whether the system knows this IANA name ("Europe/Berlin", "UTC").
bool is_time_zone(const std::string& name);

/// The beginning of day `day` (1 to 28) of the month after the month of `time`, all in that zone. UTC if the
/// system no longer knows the zone.
platform::UtcMillis start_of_day_next_month(const std::string& zone, platform::UtcMillis time, int day);

}  // namespace giftsync::sync
