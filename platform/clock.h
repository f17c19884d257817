// platform: the clocks. Only this file reads them; other code takes `now` as a parameter, so a test can
// simulate a year in a second.
#pragma once

#include <functional>

#include "platform/time.h"

namespace giftsync::platform {

using Clock = std::function<UtcMillis()>;

/// The system's clock, UTC.
UtcMillis system_now();

/// Milliseconds since boot, of a clock that cannot be set and that continues while the process or the machine
/// is suspended (CLOCK_BOOTTIME).
std::int64_t boottime_millis();

}  // namespace giftsync::platform
