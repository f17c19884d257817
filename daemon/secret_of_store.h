// daemon: the server secret that belongs to a store (design 3.5): a small file beside it. All links are
// derived from it, so a store keeps its fingerprint and works with no other.
#pragma once

#include <string>

#include "daemon/settings/settings.h"
#include "schema/store/store.h"

namespace giftsync::daemon {

/// Where the secret is: "giftsync.secret" beside "giftsync.db"; for PostgreSQL in systemd's state directory,
/// or without one beside the settings file.
std::string secret_path(const Settings& settings);

/// The secret's bytes. Made when the store has never had one; throws UnusableSettings when it is missing,
/// unreadable or another store's.
std::string secret_of_store(const Settings& settings, schema::Store& store);

}  // namespace giftsync::daemon
