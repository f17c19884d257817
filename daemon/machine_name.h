// daemon: a name for this machine, under which its daemon holds leases.
#pragma once

#include <string>

namespace giftsync::daemon {

/// Tells this machine from every other one, also from one of the same name.
std::string machine_name();

}  // namespace giftsync::daemon
