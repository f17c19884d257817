// platform: the identity of this machine, part of the owner name of its leases (ARCH-17).
#pragma once

#include <string>

namespace giftsync::platform {

/// Host name and machine id: unique even among machines with equal host names.
std::string host_identity();

}  // namespace giftsync::platform
