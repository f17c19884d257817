// daemon/cli: who is at the command line, for what is recorded with a person's decision.
#pragma once

#include <string>

namespace giftsync::daemon {

/// The operating system's name of the user; "root (sudo: ana)" when ana became root by sudo; "uid 1001" for
/// one without a name.
std::string os_user();

}  // namespace giftsync::daemon
