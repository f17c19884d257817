// platform: the clock. Only this file reads it; other code takes `now` as a parameter, so a test can simulate
// a year in a second.
#pragma once

#include <functional>

#include "platform/time.h"

namespace giftsync::platform {

using Clock = std::function<UtcMillis()>;

/// The system's clock, UTC.
UtcMillis system_now();

}  // namespace giftsync::platform
