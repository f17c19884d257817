#include "schema/store/pruning.h"

#include <algorithm>
#include <string>

#include "schema/sql/queries.h"

namespace giftsync::schema::store {

std::int64_t prune(sql::Database& database, const PrunedTable& table, platform::UtcMillis before,
                   const PruneLimits& limits) {
  const std::string name(table.table);
  const std::string time(table.time_column);
  const std::string row = database.dialect() == sql::Dialect::sqlite ? "rowid" : "ctid";
  std::int64_t deleted = 0;
  while (deleted < limits.rows_per_call) {
    const std::int64_t most = std::min(limits.rows_per_transaction, limits.rows_per_call - deleted);
    const std::string oldest = "SELECT " + row + " FROM " + name + " WHERE " + time + " < :before ORDER BY " +
                               time + " LIMIT " + std::to_string(most);
    const auto is_any = [&](soci::session& session) {
      return sql::select_value<std::int64_t>(session, "SELECT count(*) FROM (" + oldest + ") AS oldest",
                                             soci::use(before)) > 0;
    };
    if (!database.read(is_any)) break;  // without work no write lock is taken
    const std::int64_t some = database.write([&](soci::session& session) {
      return sql::change_rows(
          session,
          "DELETE FROM " + name + " WHERE " + row + " " + sql::in_subquery(database.dialect(), oldest),
          soci::use(before));
    });
    deleted += some;
    if (some < most) break;
  }
  return deleted;
}

}  // namespace giftsync::schema::store
