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

/// The version of the store's tables; 0: there is no store. Creates nothing, not even SQLite's file. Throws
/// IncompatibleStoreError and platform::DependencyError.
int existing_store_version(const daemon::config::Settings& settings);

/// Whether this user may use `path` in `mode` (R_OK, W_OK, X_OK); errno tells why not. A read-only file
/// system is no fault of the settings: the database reports it, and systemd restarts the daemon.
bool may_write(const std::string& path, int mode);

}  // namespace giftsync::wiring
