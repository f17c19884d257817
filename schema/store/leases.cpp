#include "schema/store/leases.h"

namespace giftsync::schema::store {

void release_leases(sql::Database& database, std::string_view table, const std::vector<std::string>& owners) {
  const std::string list = sql::list_of(database.dialect(), owners);
  database.write([&](soci::session& session) {
    session << "UPDATE " + std::string(table) + " SET lease_owner = '', lease_until = 0 WHERE " +
                   sql::in_list(database.dialect(), "lease_owner", "owners", true),
        soci::use(list);
  });
}

void cap_leases(sql::Database& database, std::string_view table, std::int64_t max_millis) {
  database.write(
      [&](soci::session& session) { sql::cap_leases(session, database.dialect(), table, max_millis); });
}

std::string for_update(sql::Dialect dialect, std::string_view what) {
  return dialect == sql::Dialect::postgresql ? " FOR UPDATE" + std::string(what) : std::string();
}

}  // namespace giftsync::schema::store
