// wiring: checks the path of a SQLite store before SQLite opens it: SQLite's errors name neither the file nor
// the remedy.
#pragma once

#include <optional>
#include <string>

#include "daemon/config/settings.h"

namespace giftsync::wiring {

/// "FILE:LINE: store.connection: ...": the folder of the store's file, or of a CRM's own SQLite file, does
/// not exist. The service's own state folder may be missing, since systemd creates it at the first start.
std::optional<std::string> missing_directory_fault(const daemon::config::Settings& settings);

/// The same at the start, when the state folder must exist too, and whether this user may write there. Call
/// it only as the service's user.
std::optional<std::string> store_directory_fault(const daemon::config::Settings& settings);

}  // namespace giftsync::wiring
