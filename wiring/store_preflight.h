// wiring: checks what the settings name before the daemon uses it: the store's path, since SQLite's errors
// name neither the file nor the remedy, the folder of a file transport, and the CRM.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::wiring {

/// "FILE:LINE: store.connection: ...": the folder of the store's file, or of a CRM's own SQLite file, does
/// not exist. The service's own state folder may be missing, since systemd creates it at the first start.
std::optional<std::string> missing_directory_fault(const daemon::config::Settings& settings);

/// The same at the start, when the state folder must exist too, and whether this user may write there. Call
/// it only as the service's user.
std::optional<std::string> store_directory_fault(const daemon::config::Settings& settings);

/// "the disk of FOLDER is full: 12 KB are free", if fewer than 16 MB are: SQLite needs some for its journal.
std::optional<std::string> full_disk_clause(const std::string& folder, std::uint64_t free_bytes);
/// The same of the disk with the store's file. Nothing for a store in PostgreSQL.
std::optional<std::string> full_disk_clause(const daemon::config::Settings& settings);

/// "FILE:LINE: email.directory: ...": mails cannot be written there. Creates nothing. Call it only as the
/// service's user.
std::optional<std::string> mail_directory_fault(const daemon::config::Settings& settings);

/// What a start or reload with these settings would refuse, as far as this machine's files show.
std::vector<std::string> local_faults(const daemon::config::Settings& settings);

/// "FILE:LINE: store.connection: ...": what the server of the store risks in a crash (ARCH-46). Throws
/// platform::DependencyError when it is unreachable.
std::vector<std::string> server_warnings(const daemon::config::Settings& settings);

/// "FILE:LINE: store.connection: ...": several hosts that do not lead to the primary, or a pooler in front of
/// store or CRM that does not keep sessions (ARCH-43). Throws platform::DependencyError when one is
/// unreachable.
std::vector<std::string> connection_faults(const daemon::config::Settings& settings);

struct DatabaseFindings {
  std::vector<std::string> faults;     ///< what a start would refuse
  std::vector<std::string> unchecked;  ///< what could not be checked, and why
  std::vector<std::string> warnings;   ///< what a start accepts, and names too (ARCH-46)
};
/// The same for store and CRM. Creates and upgrades nothing. Throws platform::DependencyError when one is
/// unreachable.
DatabaseFindings check_databases(const daemon::config::Settings& settings);

/// True if the path exists, or if this user may not know.
bool store_file_exists(const std::string& path);

/// The version of the store's tables; 0: there is no store. Creates nothing, not even SQLite's file. Throws
/// IncompatibleStoreError and platform::DependencyError.
int existing_store_version(const daemon::config::Settings& settings);

/// Whether this user may use `path` in `mode` (R_OK, W_OK, X_OK); errno tells why not. A read-only file
/// system is no fault of the settings: the database reports it, and systemd restarts the daemon.
bool may_write(const std::string& path, int mode);

}  // namespace giftsync::wiring
