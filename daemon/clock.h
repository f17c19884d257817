// daemon: the clock. It is read only here and handed down as `now`, so that a test lives a year in a second.
#pragma once

#include <functional>

#include "schema/time.h"

namespace giftsync::daemon {

using Clock = std::function<schema::UtcMillis()>;

/// The system's clock, UTC.
schema::UtcMillis system_now();

}  // namespace giftsync::daemon
