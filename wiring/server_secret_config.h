// wiring: the server secret of a store (OPS-5), a file beside it. All links are derived from it, so the store
// keeps its fingerprint and rejects any other secret.
#pragma once

#include <optional>
#include <string>

#include "daemon/config/settings.h"
#include "schema/store/server_check.h"
#include "schema/store/store.h"

namespace giftsync::wiring {

/// The secret's path: "giftsync.secret" beside "giftsync.db"; for PostgreSQL in systemd's state directory, or
/// if there is none beside the settings file.
std::string server_secret_path(const daemon::config::Settings& settings);

/// The daemon's memory of the store's server: "giftsync.server" beside the secret; no path for SQLite.
schema::store::ServerFile server_file(const daemon::config::Settings& settings);
/// The same for a command, which only compares; outside of systemd also where the service keeps it.
schema::store::ServerFile server_file_of_daemon(const daemon::config::Settings& settings);

/// Why a store that is missing must not be created: its server secret is there, so a store was lost, or the
/// settings name the wrong one (OPS-5).
std::optional<std::string> secret_without_store_fault(const daemon::config::Settings& settings);

/// Why load_server_secret() would refuse the secret of a store that has one. Creates nothing. For PostgreSQL
/// the secret is not checked outside of systemd, which alone names its folder.
std::optional<std::string> server_secret_fault(const daemon::config::Settings& settings,
                                               schema::store::Store& store);

/// The secret's bytes if this process can read them and they are the store's own; creates and throws nothing.
std::optional<std::string> readable_server_secret(const daemon::config::Settings& settings,
                                                  schema::store::Store& store);

/// The secret's bytes. Creates the secret when the store has never had one; throws ConfigError when it is
/// missing, unreadable or another store's.
std::string load_server_secret(const daemon::config::Settings& settings, schema::store::Store& store);

}  // namespace giftsync::wiring
