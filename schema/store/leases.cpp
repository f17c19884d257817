#include "schema/store/leases.h"

#include "schema/sql/queries.h"

namespace giftsync::schema::store {

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

void lock_in_order(soci::session& session, sql::Dialect dialect, const LeasedTable& table,
                   const std::vector<std::int64_t>& keys) {
  if (dialect == sql::Dialect::sqlite || keys.empty()) return;
  const std::string key(table.key);
  const std::string list = sql::list_of(dialect, keys);
  sql::select_value<std::int64_t>(session,
                                  "SELECT count(*) FROM (SELECT 1 FROM " + std::string(table.table) +
                                      " WHERE " + sql::in_list(dialect, key, "keys", false) + " ORDER BY " +
                                      key + for_update(dialect) + ") locked",
                                  soci::use(list));
}

std::string for_update(sql::Dialect dialect, std::string_view what) {
  return dialect == sql::Dialect::postgresql ? " FOR UPDATE" + std::string(what) : std::string();
}

}  // namespace giftsync::schema::store
