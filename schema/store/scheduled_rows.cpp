#include "schema/store/scheduled_rows.h"

#include "schema/sql/queries.h"

namespace giftsync::schema::store {

using soci::use;

std::int64_t reset_scheduled_after(sql::Database& database, const ScheduledRows& rows,
                                   platform::UtcMillis latest, platform::UtcMillis now,
                                   const std::optional<AuditEvent>& audit) {
  const std::string waiting = " FROM " + std::string(rows.table) + " WHERE " + rows.condition;
  const auto is_any = [&](soci::session& session) {
    return sql::select_value<std::int64_t>(session,
                                           "SELECT count(*) FROM (SELECT 1" + waiting + " LIMIT 1) waiting",
                                           use(latest, "latest")) > 0;
  };
  if (!database.read(is_any)) return 0;
  const std::string key(rows.key);
  const std::string part = "SELECT " + key + waiting + " ORDER BY " + std::string(rows.order) + " LIMIT " +
                           std::to_string(sql::Database::kMaxRowsPerBatch);
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

}  // namespace giftsync::schema::store
