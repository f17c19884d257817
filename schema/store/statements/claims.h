// schema/store: what the queues' claims share: their floor read from a table (claim_floor.h), leases, locks
// and pruning. Included by .cpp files only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/sql/database.h"
#include "schema/sql/queries.h"
#include "schema/store/statements/audit_log.h"
#include "schema/store/statements/claim_floor.h"

namespace giftsync::store {

/// Nullopt: read from the beginning; always so on SQLite, which keeps no dead rows. `smallest(above)`: the
/// SELECT of the queue's smallest time, from `above` on or from the beginning.
template <class SmallestQuery>
std::optional<UtcMillis> find_floor(sql::Database& database, ClaimLowerBound& floor, UtcMillis now,
                                    const SmallestQuery& smallest) {
  if (database.dialect() != sql::Dialect::postgresql) return std::nullopt;
  return floor.find(now, [&](std::optional<UtcMillis> above) {
    return database.read([&](soci::session& session) {
      return sql::first_of(sql::select_column<UtcMillis>(session, smallest(above)));
    });
  });
}

/// Runs `work` in a write transaction if `has_work` finds some in a read. Usually there is none, and no write
/// lock is taken; the result is a default value then.
template <class HasWork, class Work>
auto write_if_any(sql::Database& database, HasWork&& has_work, Work&& work) {
  using Result = decltype(database.write(work));
  return database.read(has_work) ? database.write(work) : Result();
}

// The leases of a table with lease_owner and lease_until. Included by this folder's .cpp files
// only.

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
void lock_in_order(soci::session& session, const LeasedTable& table, const std::vector<std::int64_t>& keys);

// Resets waiting times, that a wrong clock set too far in the future or that someone ends.
// Included by this folder's .cpp files only.

/// Which rows wait, and how to release them.
struct ScheduledRows {
  std::string_view table;
  std::string_view key;          ///< the table's primary key, of one column
  std::string condition;         ///< a condition with :latest that an index of the table serves
  std::string_view order;        ///< the order of that index; total
  std::string_view assignments;  ///< the assignments that release a row, with :now
};

/// Releases rows that wait beyond `latest`, which is not before `now`, in batches
/// (Database::write_in_batches); returns how many. Usually there are none, and no write lock is taken. Each
/// batch adds the event with the number of its own rows (CON-8).
std::int64_t reset_scheduled_after(sql::Database& database, const ScheduledRows& rows, UtcMillis latest,
                                   UtcMillis now, const std::optional<AuditEvent>& audit = {});

// Deletes old rows a few at a time. After a week without a daemon there may be millions: one
// DELETE would hold SQLite's only writer for minutes, and on PostgreSQL the query watchdog would cut it,
// again and again. Included by this folder's .cpp files only.

struct PrunedTable {
  std::string_view table;
  std::string_view time_column;  ///< with an index
};

struct PruneLimits {
  std::int64_t rows_per_transaction = 5'000;
  std::int64_t rows_per_call = 200'000;  ///< the rest is left to the next call
};

/// Deletes rows whose time is before `before`, the oldest first; returns how many.
std::int64_t prune(sql::Database& database, const PrunedTable& table, UtcMillis before,
                   const PruneLimits& limits = {});

}  // namespace giftsync::store
