#include "schema/crm/external/users.h"

#include <set>

#include "schema/contact_normalization.h"
#include "schema/crm/sql_common/expiration.h"

namespace giftsync::schema::crm::external {
namespace {

/// 1 unless the field is false; a CRM without the field has only active rows.
std::string is_active(const MappedTables& tables, const std::string& object) {
  const std::string column = tables.column("p", object, "IsActive");
  return "CASE WHEN coalesce(" + (column == "NULL" ? "true" : column) + ", true) THEN 1 ELSE 0 END";
}

std::string expiration(sql::Dialect dialect, const MappedTables& tables) {
  const std::string object = "permission_set_assignment";
  const std::string column = tables.column("p", object, "ExpirationDate");
  const sql_common::Column* type = tables.type(object, "ExpirationDate");
  if (!type) return "''";
  // SQLite may store times in text columns, in a form that its functions parse.
  const sql_common::Column read =
      dialect == sql::Dialect::sqlite
          ? sql_common::Column{type->name, sql_common::ColumnType::date_time, type->sql_type}
          : *type;
  return sql_common::expiration_expression(column, as_text(dialect, column, read));
}

}  // namespace

sql_common::RowsByKey<CrmUser> users_by_email(sql::Database& database, const MappedTables& tables,
                                              const Keys& keys) {
  if (keys.empty() || !tables.has("user")) return {};
  const sql::Dialect dialect = database.dialect();
  const std::set<std::string> wanted(keys.begin(), keys.end());
  const std::string list = sql::list_of(dialect, email_spellings(keys));
  const std::string id = tables.column("p", "user", "Id");
  const std::string active = is_active(tables, "user");
  const std::string query =
      "SELECT " + tables.text("p", "user", "Id") + ", " + tables.text("p", "user", "Name") + ", " +
      tables.text("p", "user", "Email") + ", " + active + " FROM " + tables.table("user") + " p WHERE " + id +
      " IS NOT NULL AND " +
      sql::in_list(dialect, email_expression(tables.column("p", "user", "Email")), "keys", true) +
      " ORDER BY " + active + " DESC, " + sql_common::bytewise(dialect, id);
  return database.read([&](soci::session& session) {
    sql_common::RowsByKey<CrmUser> found;
    CrmUser user;
    long long active_now = 0;
    soci::statement statement = sql::bound(session, query, soci::into(user.id), soci::into(user.name),
                                           soci::into(user.email), soci::into(active_now), soci::use(list));
    sql::each_row(statement, [&] {
      const std::string key = email_key(user.email);
      if (wanted.contains(key) && found[key].size() < kMaxCandidates)
        found[key].emplace_back(user).active = active_now != 0;
    });
    return found;
  });
}

std::map<std::string, CrmUser> find_users_by_id(sql::Database& database, const MappedTables& tables,
                                                const Keys& ids) {
  if (ids.empty() || !tables.has("user")) return {};
  const sql::Dialect dialect = database.dialect();
  const std::string list = sql::list_of(dialect, ids);
  const std::string query = "SELECT " + tables.text("p", "user", "Id") + ", " +
                            tables.text("p", "user", "Name") + ", " + tables.text("p", "user", "Email") +
                            ", " + is_active(tables, "user") + " FROM " + tables.table("user") + " p WHERE " +
                            sql::in_list(dialect, tables.column("p", "user", "Id"), "ids", true);
  return database.read([&](soci::session& session) {
    std::map<std::string, CrmUser> found;
    CrmUser user;
    long long active = 0;
    soci::statement statement = sql::bound(session, query, soci::into(user.id), soci::into(user.name),
                                           soci::into(user.email), soci::into(active), soci::use(list));
    sql::each_row(statement, [&] {
      user.active = active != 0;
      found.emplace(user.id, user);
    });
    return found;
  });
}

sql_common::RowsByKey<PermissionSetAssignment> permission_sets_of(sql::Database& database,
                                                                  const MappedTables& tables,
                                                                  const Keys& users) {
  if (users.empty()) return {};
  const sql::Dialect dialect = database.dialect();
  const std::string object = "permission_set_assignment";
  const std::string list = sql::list_of(dialect, users);
  const std::string query = "SELECT " + tables.text("p", object, "AssigneeId") + ", " +
                            tables.text("p", object, "PermissionSetName") + ", " + is_active(tables, object) +
                            ", " + expiration(dialect, tables) + " FROM " + tables.table(object) +
                            " p WHERE " +
                            sql::in_list(dialect, tables.column("p", object, "AssigneeId"), "users", true);
  return database.read([&](soci::session& session) {
    sql_common::RowsByKey<PermissionSetAssignment> found;
    std::string user;
    std::string expires;
    PermissionSetAssignment row;
    long long active = 0;
    soci::statement statement = sql::bound(session, query, soci::into(user), soci::into(row.permission_set),
                                           soci::into(active), soci::into(expires), soci::use(list));
    sql::each_row(statement, [&] {
      row.active = active != 0;
      row.expires_at = sql_common::parse_expiration(expires);
      found[user].push_back(row);
    });
    return found;
  });
}

}  // namespace giftsync::schema::crm::external
