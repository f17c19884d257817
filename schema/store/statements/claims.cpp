#include "schema/store/statements/claims.h"

#include <algorithm>

namespace giftsync::store {

std::optional<UtcMillis> ClaimLowerBound::find(UtcMillis now, const ReadSmallest& read) {
  const std::lock_guard lock(mutex_);
  if (rows_ < kManyRows) return std::nullopt;
  // Also when the clock was set back.
  const bool is_whole = !floor_ || now < look_at_ || now.value - whole_look_at_.value >= kWholeLookMillis;
  if (is_whole || now.value - look_at_.value >= kLookMillis) {
    const std::optional<UtcMillis> smallest = read(is_whole ? std::nullopt : floor_);
    const UtcMillis latest = now - kLateMillis;
    const UtcMillis found = smallest ? std::min(*smallest, latest) : latest;
    floor_ = is_whole ? found : std::max(*floor_, found);
    if (is_whole) whole_look_at_ = now;
    look_at_ = now;
  }
  return floor_;
}

void ClaimLowerBound::count(std::size_t rows) {
  const std::lock_guard lock(mutex_);
  rows_ = std::min(kManyRows, rows_ + rows);
}

void release_leases(sql::Database& database, const LeasedTable& table,
                    const std::vector<std::string>& owners) {
  const sql::Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, owners);
  const std::string update = ordered_update(dialect, table, "lease_owner = '', lease_until = 0",
                                            sql::in_list(dialect, "lease_owner", "owners", true));
  database.write([&](soci::session& session) { session << update, soci::use(list); });
}

std::string failing_since(sql::Dialect dialect) {
  return "CASE WHEN failing_since = 0 THEN " + std::string(sql::database_now(dialect)) +
         " ELSE failing_since END";
}

void cap_leases(sql::Database& database, const LeasedTable& table, std::int64_t max_millis) {
  const sql::Dialect dialect = database.dialect();
  const std::string end = std::string(sql::database_now(dialect)) + " + " + std::to_string(max_millis);
  const std::string update = ordered_update(dialect, table, "lease_until = " + end, "lease_until > " + end);
  database.write([&](soci::session& session) { session << update; });
}

std::string ordered_update(sql::Dialect dialect, const LeasedTable& table, const std::string& assignments,
                           const std::string& condition) {
  const std::string key(table.key);
  const std::string may_be_leased =
      table.may_be_leased.empty() ? std::string() : std::string(table.may_be_leased) + " AND ";
  const std::string in_order =
      dialect == sql::Dialect::postgresql ? " ORDER BY " + key + for_update(dialect) : std::string();
  const std::string rows = "SELECT " + key + " FROM " + std::string(table.table) + " WHERE " + may_be_leased +
                           condition + in_order;
  return "UPDATE " + std::string(table.table) + " SET " + assignments + " WHERE " + key + " " +
         sql::in_subquery(dialect, rows);
}

void lock_in_order(soci::session& session, const LeasedTable& table, const std::vector<std::int64_t>& keys) {
  if (sql::Dialect(session) == sql::Dialect::sqlite || keys.empty()) return;
  const std::string key(table.key);
  const std::string list = sql::list_of(session, keys);
  sql::select_value<std::int64_t>(session,
                                  "SELECT count(*) FROM (SELECT 1 FROM " + std::string(table.table) +
                                      " WHERE " + sql::in_list(session, key, "keys", false) + " ORDER BY " +
                                      key + for_update(session) + ") locked",
                                  soci::use(list));
}

std::string for_update(sql::Dialect dialect, std::string_view what) {
  return dialect == sql::Dialect::postgresql ? " FOR UPDATE" + std::string(what) : std::string();
}

using soci::use;

std::int64_t reset_scheduled_after(sql::Database& database, const ScheduledRows& rows, UtcMillis latest,
                                   UtcMillis now, const std::optional<AuditEvent>& audit) {
  const std::string waiting = std::string(rows.table) + " WHERE " + rows.condition;
  const auto is_any = [&](soci::session& session) {
    return sql::has_row(session, waiting, use(latest, "latest"));
  };
  if (!database.read(is_any)) return 0;
  const std::string key(rows.key);
  const std::string part = "SELECT " + key + " FROM " + waiting + " ORDER BY " + std::string(rows.order) +
                           " LIMIT " + std::to_string(sql::Database::kMaxRowsPerBatch);
  // In the order of the keys, as all that changes several rows (ARCH-40).
  const bool is_locked = database.dialect() == sql::Dialect::postgresql;
  const std::string chosen = is_locked ? "SELECT " + key + " FROM " + std::string(rows.table) + " WHERE " +
                                             key + " " + sql::in_subquery(database.dialect(), part) +
                                             " ORDER BY " + key + " FOR UPDATE"
                                       : part;
  // Checked again under the lock: another process may have changed the waiting time.
  const std::string update = "UPDATE " + std::string(rows.table) + " SET " + std::string(rows.assignments) +
                             " WHERE " + rows.condition + " AND " + key + " " +
                             sql::in_subquery(database.dialect(), chosen);
  return database.write_in_batches([&](soci::session& session) {
    const std::int64_t count = sql::change_rows(session, update, use(now, "now"), use(latest, "latest"));
    insert_counted_event(session, audit, count);
    return count;
  });
}

std::int64_t prune(sql::Database& database, const PrunedTable& table, UtcMillis before,
                   const PruneLimits& limits) {
  const std::string name(table.table);
  const std::string time(table.time_column);
  const std::string row = database.dialect() == sql::Dialect::sqlite ? "rowid" : "ctid";
  std::int64_t deleted = 0;
  while (deleted < limits.rows_per_call) {
    const std::int64_t most = std::min(limits.rows_per_transaction, limits.rows_per_call - deleted);
    const std::string oldest = "SELECT " + row + " FROM " + name + " WHERE " + time + " < :before ORDER BY " +
                               time + " LIMIT " + std::to_string(most);
    const auto has_old = [&](soci::session& session) {
      return sql::has_row(session, "(" + oldest + ") oldest", use(before));
    };
    const std::int64_t some = write_if_any(database, has_old, [&](soci::session& session) {
      return sql::change_rows(
          session, "DELETE FROM " + name + " WHERE " + row + " " + sql::in_subquery(session, oldest),
          use(before));
    });
    deleted += some;
    if (some < most) break;
  }
  return deleted;
}

}  // namespace giftsync::store
