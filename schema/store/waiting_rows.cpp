#include "schema/store/waiting_rows.h"

namespace giftsync::schema::sql {

using soci::into;
using soci::use;

std::int64_t end_waits_beyond(Database& database, const WaitingRows& rows, UtcMillis latest, UtcMillis now) {
  const std::string waiting = " FROM " + std::string(rows.table) + " WHERE " + rows.beyond;
  const auto is_any = [&](soci::session& session) {
    long long found = 0;
    session << "SELECT count(*) FROM (SELECT 1" + waiting + " LIMIT 1) waiting", use(latest, "latest"),
        into(found);
    return found > 0;
  };
  if (!database.read(is_any)) return 0;
  const std::string key(rows.key);
  const std::string part = "SELECT " + key + waiting + " ORDER BY " + std::string(rows.order) + " LIMIT " +
                           std::to_string(Database::kRowsInPart);
  // Looked at again with the row: somebody else may have given it another wait since.
  const std::string update = "UPDATE " + std::string(rows.table) + " SET " + std::string(rows.ended) +
                             " WHERE " + rows.beyond + " AND " + key + " " +
                             is_one_of(database.dialect(), part);
  return database.write_in_parts([&](soci::session& session) {
    soci::statement statement = bound(session, update, use(now, "now"), use(latest, "latest"));
    statement.execute(true);
    return static_cast<std::int64_t>(statement.get_affected_rows());
  });
}

}  // namespace giftsync::schema::sql
