// daemon/wiring: the identity of this machine, part of the owner name of its leases (ARCH-17).
#pragma once

#include <string>

namespace giftsync::wiring {

/// As the kernel has it, with or without a domain.
std::string host_name();

/// Host name and machine id: unique even among machines with equal host names.
std::string host_identity();

}  // namespace giftsync::wiring
