#include "schema/sql_crm/users.h"

#include <map>
#include <set>

#include "schema/sql_crm/candidates.h"

namespace giftsync::schema::sql_crm {
namespace {

/// Each once, without the empty ones, which are nobody's.
std::string id_list(Dialect dialect, std::span<const std::string> ids) {
  std::set<std::string> once(ids.begin(), ids.end());
  once.erase("");
  return sql::list_of(dialect, std::vector<std::string>(once.begin(), once.end()));
}

}  // namespace

std::vector<std::optional<CrmUser>> read_users(sql::Database& database, std::span<const std::string> ids) {
  const Dialect dialect = database.dialect();
  const std::string list = id_list(dialect, ids);
  const auto found = database.read([&](soci::session& session) {
    std::map<std::string, CrmUser> users;
    CrmUser user;
    long long active = 0;
    soci::statement statement =
        sql::bound(session,
                   "SELECT p.id, " + person_name("p") +
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
  std::vector<std::optional<CrmUser>> answers;
  for (const std::string& id : ids) {
    const auto user = found.find(id);
    answers.push_back(user == found.end() ? std::nullopt : std::optional(user->second));
  }
  return answers;
}

std::vector<std::vector<PermissionSetAssignment>> read_permission_sets(sql::Database& database,
                                                                       std::span<const std::string> users) {
  const Dialect dialect = database.dialect();
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
            expiration_text("s.expirationdate", as_text(dialect, "s.expirationdate", ColumnType::date_time)) +
            " FROM crm_permission_set_assignment s WHERE " +
            sql::in_list(dialect, "s.assigneeid", "users", true),
        soci::into(user), soci::into(row.permission_set), soci::into(active), soci::into(expires),
        soci::use(list));
    sql::each_row(statement, [&] {
      row.active = active != 0;
      row.expires_at = expiration_of(expires);
      sets[user].push_back(row);
    });
    return sets;
  });
  std::vector<std::vector<PermissionSetAssignment>> answers;
  for (const std::string& user : users) {
    const auto sets = found.find(user);
    answers.push_back(sets == found.end() ? std::vector<PermissionSetAssignment>() : sets->second);
  }
  return answers;
}

std::string expiration_text(const std::string& column, const std::string& as_text) {
  return "CASE WHEN " + column + " IS NULL THEN '' ELSE coalesce(" + as_text + ", '?') END";
}

std::optional<UtcMillis> expiration_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  return from_rfc3339(text).value_or(UtcMillis{0});
}

}  // namespace giftsync::schema::sql_crm
