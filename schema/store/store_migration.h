// schema/store: brings a store to the newest version by numbered SQL scripts. Internal to schema/store and
// its tests. Thread-safe; safe across processes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schema/sql/database.h"

namespace giftsync::schema::store {

/// Scripts as sql::run_script takes them. Script i brings a store of version i to version i + 1; the first
/// one creates the store.
using MigrationScripts = std::span<const std::string_view>;

/// The value of that name in store_metadata, which exists.
std::optional<std::string> read_metadata(soci::session& session, const std::string& name);
/// Inserts the value, or replaces it.
void write_metadata(soci::session& session, const std::string& name, const std::string& value);

/// The store's version; 0 when there are no tables yet. Throws IncompatibleStoreError when the tables were
/// not made by these scripts. A version beyond the scripts is returned without that check.
int read_store_version(const sql::Dsn& dsn, MigrationScripts scripts);

/// Runs the scripts that the store lacks, in one transaction, and records the version and the fingerprint of
/// the scripts. Throws IncompatibleStoreError, without a change, when the store is newer than the scripts or
/// was not made by them.
void run_migration(const sql::Dsn& dsn, MigrationScripts scripts);

}  // namespace giftsync::schema::store
