// sync: days of a time zone, by the system's zone data. A day begins at its first moment: where the clocks
// jump over 00:00 that is the moment of the jump, where 00:00 comes twice it is the first one.
#pragma once

#include <string>

#include "schema/time.h"

namespace giftsync::sync {

/// An IANA name ("Europe/Berlin", "UTC") that the system knows.
bool is_time_zone(const std::string& name);

/// When the day `day` (1 to 28) begins of the month that follows the one in which `time` lies, all of it in
/// that zone; in UTC when the system does not know the zone any more.
schema::UtcMillis day_of_next_month(const std::string& zone, schema::UtcMillis time, int day);

}  // namespace giftsync::sync
