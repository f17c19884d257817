// schema/store: the leases of a table with lease_owner and lease_until. Included by this folder's .cpp files
// only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::store {

/// What changes the leases of several rows locks them in the order of `key` first (PostgreSQL), so that no
/// two transactions wait for each other (ARCH-40).
struct LeasedTable {
  std::string_view table;
  std::string_view key;            ///< its primary key
  std::string_view may_be_leased;  ///< of rows with a lease; an index has this condition. Empty: all
};
/// An index of the leased rows would be written by each claim: PostgreSQL would then write all indexes of a
/// claimed row again (no heap-only update), and claims would take twice as long. A release, after a start or
/// a fault of the CRM, reads the table instead.
inline constexpr LeasedTable kCrmOutbox{"crm_outbox", "transaction_id", ""};
inline constexpr LeasedTable kMailOutbox{"mail_outbox", "transaction_id",
                                         "state IN ('queued', 'sending', 'uncertain')"};
inline constexpr LeasedTable kSource{"source", "name", ""};

/// For crm_outbox: the value of failing_since when an attempt fails now.
std::string failing_since(sql::Dialect dialect);

/// Ends every lease of `owners` in the table.
void release_leases(sql::Database& database, const LeasedTable& table,
                    const std::vector<std::string>& owners);
/// A lease that ends more than `max_millis` from now was taken while the database's clock was ahead; it is
/// shortened to `max_millis` from now.
void cap_leases(sql::Database& database, const LeasedTable& table, std::int64_t max_millis);

/// "UPDATE table SET assignments WHERE condition", with the rows locked in the order of their keys.
std::string ordered_update(sql::Dialect dialect, const LeasedTable& table, const std::string& assignments,
                           const std::string& condition);

/// " FOR UPDATE" and `what` (" OF t", " SKIP LOCKED") on PostgreSQL: other writers of the selected rows wait,
/// or skip them. A transaction of SQLite is alone anyway.
std::string for_update(sql::Dialect dialect, std::string_view what = "");

/// Locks the existing rows with those keys in their order (ARCH-40). Does nothing on SQLite, where a
/// transaction is alone.
void lock_in_order(soci::session& session, sql::Dialect dialect, const LeasedTable& table,
                   const std::vector<std::int64_t>& keys);

}  // namespace giftsync::schema::store
