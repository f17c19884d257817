// schema/store: the leases of a table with lease_owner and lease_until. Included by this folder's .cpp files
// only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::store {

/// Ends every lease of `owners` in the table.
void release_leases(sql::Database& database, std::string_view table, const std::vector<std::string>& owners);
/// Of any owner: as sql::cap_leases, in a transaction of its own.
void cap_leases(sql::Database& database, std::string_view table, std::int64_t max_millis);
/// " FOR UPDATE" and `what` (" OF t", " SKIP LOCKED") on PostgreSQL: other writers of the selected rows wait,
/// or skip them. A transaction of SQLite is alone anyway.
std::string for_update(sql::Dialect dialect, std::string_view what = "");

}  // namespace giftsync::schema::store
