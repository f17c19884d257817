// daemon/cli: gift records that a command has queued are written at once, by the same step that the daemon's
// sync loop runs and under leases of its own, so that a command is done when it ends, whether or not a daemon
// runs.
#pragma once

#include <vector>

#include "daemon/cli/installation.h"

namespace giftsync::daemon {

/// Runs sync steps until these gifts are written or nothing more can be done here. Returns how many are left
/// to the daemon: it holds them, or the server secret, which their links need, cannot be read by this user.
std::size_t make_records(const Console& console, Installation& place,
                         const std::vector<schema::TransactionId>& gifts);

}  // namespace giftsync::daemon
