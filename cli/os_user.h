// cli: the user at the command line, recorded with admin decisions.
#pragma once

#include <string>

namespace giftsync::cli {

/// The operating system's user name; "root (sudo: ana)" if ana uses sudo; "uid 1001" for a user without a
/// name.
std::string os_user();
/// From now on os_user() is the user of now, also when this process becomes another one. Main thread.
void remember_os_user();

}  // namespace giftsync::cli
