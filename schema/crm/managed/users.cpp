#include "schema/crm/managed/users.h"

#include <map>
#include <set>

#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/sql_common/expiration.h"

namespace giftsync::schema::crm::managed {
namespace {

/// Without duplicates and without empty keys.
std::string id_list(sql::Dialect dialect, std::span<const std::string> ids) {
  std::set<std::string> once(ids.begin(), ids.end());
  once.erase("");
  return sql::list_of(dialect, std::vector<std::string>(once.begin(), once.end()));
}

}  // namespace

std::vector<std::optional<CrmUser>> read_users(sql::Database& database, std::span<const std::string> ids) {
  const sql::Dialect dialect = database.dialect();
  const std::string list = id_list(dialect, ids);
  const auto found = database.read([&](soci::session& session) {
    std::map<std::string, CrmUser> users;
    CrmUser user;
    long long active = 0;
    soci::statement statement =
        sql::bound(session,
                   "SELECT p.id, " + person_name_expression("p") +
                       ", coalesce(p.email, ''), CASE WHEN coalesce(p.isactive, true) THEN 1 ELSE "
                       "0 END FROM crm_user p WHERE " +
                       sql::in_list(dialect, "p.id", "ids", true),
                   soci::into(user.id), soci::into(user.name), soci::into(user.email), soci::into(active),
                   soci::use(list));
    sql::each_row(statement, [&] {
      user.active = active != 0;
      users.emplace(user.id, user);
    });
    return users;
  });
  std::vector<std::optional<CrmUser>> results;
  for (const std::string& id : ids) {
    const auto user = found.find(id);
    results.push_back(user == found.end() ? std::nullopt : std::optional(user->second));
  }
  return results;
}

std::vector<std::vector<PermissionSetAssignment>> read_permission_sets(sql::Database& database,
                                                                       std::span<const std::string> users) {
  const sql::Dialect dialect = database.dialect();
  const std::string list = id_list(dialect, users);
  const auto found = database.read([&](soci::session& session) {
    std::map<std::string, std::vector<PermissionSetAssignment>> sets;
    std::string user;
    std::string expires;
    PermissionSetAssignment row;
    long long active = 0;
    soci::statement statement = sql::bound(
        session,
        "SELECT s.assigneeid, coalesce(s.permissionsetname, ''), CASE WHEN "
        "coalesce(s.isactive, true) THEN 1 ELSE 0 END, " +
            sql_common::expiration_expression(
                "s.expirationdate",
                sql_common::as_text(dialect, "s.expirationdate", sql_common::ColumnType::date_time)) +
            " FROM crm_permission_set_assignment s WHERE " +
            sql::in_list(dialect, "s.assigneeid", "users", true),
        soci::into(user), soci::into(row.permission_set), soci::into(active), soci::into(expires),
        soci::use(list));
    sql::each_row(statement, [&] {
      row.active = active != 0;
      row.expires_at = sql_common::parse_expiration(expires);
      sets[user].push_back(row);
    });
    return sets;
  });
  std::vector<std::vector<PermissionSetAssignment>> results;
  for (const std::string& user : users) {
    const auto sets = found.find(user);
    results.push_back(sets == found.end() ? std::vector<PermissionSetAssignment>() : sets->second);
  }
  return results;
}

}  // namespace giftsync::schema::crm::managed
