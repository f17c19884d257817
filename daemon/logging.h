// daemon: the log, one line an event on standard error (the journal has it then): text for people or JSON for
// collectors. Control characters in values are escaped, so that nobody who can write a message can forge a
// line.
#pragma once

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// Makes spdlog's default logger. Call before the first thread starts, and again after a reload.
void set_up_logging(const LogSettings& settings);

}  // namespace giftsync::daemon
