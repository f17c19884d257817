// wiring: checks what the settings name before the daemon uses it: the store's path, since SQLite's errors
// name neither the file nor the remedy, the folder of a file transport, and the CRM.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "platform/dependency_error.h"
#include "schema/sql/database_file.h"
#include "schema/sql/dsn.h"

namespace giftsync::store {
class Store;
}

namespace giftsync::wiring {

/// "FILE:LINE: store.connection: ...": the folder of the store's file, or of a CRM's own SQLite file, does
/// not exist. The service's own state folder may be missing, since systemd creates it at the first start.
std::optional<std::string> missing_directory_fault(const config::Settings& settings);

/// The same at the start, when the state folder must exist too, and whether this user may write there. Call
/// it only as the service's user.
std::optional<std::string> store_directory_fault(const config::Settings& settings);

/// What is free for this process on the disk of `folder`, if that can be known.
std::optional<std::uint64_t> free_disk_bytes(const std::string& folder);
/// With less free a disk counts as full: SQLite needs some for its journal.
inline constexpr std::uint64_t kNeededDiskBytes = std::uint64_t{16} << 20;
/// "the disk of FOLDER is full: 12 KB are free", if fewer than kNeededDiskBytes are.
std::optional<std::string> full_disk_clause(const std::string& folder, std::uint64_t free_bytes);
/// The same of the disk with the store's file. Nothing for a store in PostgreSQL.
std::optional<std::string> full_disk_clause(const config::Settings& settings);

/// "FILE:LINE: email.directory: ...": mails cannot be written there. Creates nothing. Call it only as the
/// service's user.
std::optional<std::string> mail_directory_fault(const config::Settings& settings);

/// What a start or reload with these settings would refuse, as far as this machine's files show.
std::vector<std::string> local_faults(const config::Settings& settings);

/// "FILE:LINE: store.connection: ...": what the server of the store risks in a crash (ARCH-46). Throws
/// DependencyError when it is unreachable.
std::vector<std::string> server_warnings(const config::Settings& settings);

/// "FILE:LINE: store.connection: ...": several hosts that do not lead to the primary, or a pooler in front of
/// store or CRM that does not keep sessions (ARCH-43). Throws DependencyError when one is
/// unreachable.
std::vector<std::string> connection_faults(const config::Settings& settings);

struct DatabaseFindings {
  std::vector<std::string> faults;     ///< what a start would refuse
  std::vector<std::string> unchecked;  ///< what could not be checked, and why
  std::vector<std::string> warnings;   ///< what a start accepts, and names too (ARCH-46)
};
/// The same for store and CRM. Creates and upgrades nothing. Throws DependencyError when one is
/// unreachable.
DatabaseFindings check_databases(const config::Settings& settings);

/// "FILE:LINE: feed.enabled: ...": there are webhooks, but no events to post (HOOK-13). Throws
/// DependencyError.
std::optional<std::string> webhook_warning(const config::Settings& settings, store::Store& store);

/// True if the path exists, or if this user may not know.
bool store_file_exists(const std::string& path);

/// The version of the store's tables; 0: there is no store. Creates nothing, not even SQLite's file. Throws
/// IncompatibleStoreError and DependencyError.
int existing_store_version(const config::Settings& settings);

using sql::FileRefusal;
/// Why this process cannot use SQLite's file at `path`: as sql::refused_database_file().
std::optional<FileRefusal> refused_store_file(const std::string& path);

/// Nothing for a read-only file system, which is no fault of the settings: the database reports it, and
/// systemd restarts the daemon.
std::optional<FileRefusal> not_read_only(std::optional<FileRefusal> refusal);

// Migrates and checks the store and the CRM at the daemon's start, and logs warnings. Main thread.

/// Migrates the store and the CRM's tables and returns the store's address. Throws ConfigError for what an
/// admin must fix, DependencyError when a database is unreachable.
sql::Dsn migrate_and_check_databases(const config::Settings& settings);

/// Describes a fault that stops the sync of every gift, with the remedy. Checks the whole external CRM, since
/// privileges or a column may be missing; this takes time. Any thread.
std::string describe_sync_fault(const config::Settings& settings, const DependencyError& fault);

// Makes root become the owner of the store's folder before anything in it is opened (SEC-8). The
// owner of a folder can put a symbolic link there, or triggers into the store, and root would follow them.

struct FolderOwner {
  uid_t user = 0;
  gid_t group = 0;      ///< of the folder, or of the store's file
  std::string refusal;  ///< if not empty: why there is no user to become; become() returns it
};

/// The user who decides what lies at `path`: the owner of the first part of its folder's path that root does
/// not own, symbolic links included. In a folder of root's that others may write to, it is the owner of the
/// store's file; a refusal if that is not a regular file of another user, or if a part cannot be read.
/// Nullopt: root alone decides, or there is no such folder.
std::optional<FolderOwner> other_owner_of_folder(const std::string& path);

/// The one of an SQLite store's folder when this process is root's, which it should become; else nullopt.
std::optional<FolderOwner> owner_to_become(const config::Settings& settings);

/// Becomes this user for good, with this user's groups. Returns why not: then open nothing. Main thread,
/// while there is no other one.
std::optional<std::string> become(const FolderOwner& owner);

}  // namespace giftsync::wiring
