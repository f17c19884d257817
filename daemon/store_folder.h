// daemon: whether a SQLite store can be where the settings say, found out before SQLite tries: its own words
// name neither the file nor what to do.
#pragma once

#include <optional>
#include <string>

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// "FILE:LINE: store.connection: ...": the folder of the store's file, or of a CRM's own SQLite file, is not
/// there. The service's own state folder may be missing, since systemd makes it at the first start.
std::optional<std::string> missing_folder_fault(const Settings& settings);

/// The same at a start, when nothing may be missing, or that this user may not write what is there. Only for
/// whoever runs as the service's user.
std::optional<std::string> store_folder_fault(const Settings& settings);

}  // namespace giftsync::daemon
