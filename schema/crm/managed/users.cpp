// schema/crm/managed: users, and the permission sets that are assigned to them (REQ-36).
#include "schema/crm/managed/directory.h"
#include "schema/crm/managed/match_key_lookup.h"
#include "schema/crm/managed/match_keys.h"
#include "schema/crm/sql_common/directory_rows.h"

namespace giftsync::schema::crm::managed {

std::vector<std::vector<CrmUser>> ManagedDirectory::find_users_by_email(
    std::span<const std::string> email_keys) {
  const std::vector<std::string> keys = sql_common::distinct_keys(email_keys);
  if (keys.empty()) return std::vector<std::vector<CrmUser>>(email_keys.size());
  return sql_common::rows_for_each(users_by_match_key(database_, key_field_ids({kUserEmail}).front(), keys),
                                   email_keys);
}

std::vector<std::optional<CrmUser>> ManagedDirectory::find_users_by_id(std::span<const std::string> ids) {
  const sql::Dialect dialect = database_.dialect();
  const auto users =
      sql_common::read_users(database_,
                             "SELECT p.id, " + person_name_expression("p") +
                                 ", coalesce(p.email, ''), CASE WHEN coalesce(p.isactive, true) "
                                 "THEN 1 ELSE 0 END FROM crm_user p WHERE " +
                                 sql::in_list(dialect, "p.id", "ids", true) + " AND " +
                                 sql_common::row_not_deleted_condition(dialect, "crm_user", "p"),
                             sql::list_of(dialect, crm_id_forms(ids)));
  return sql_common::first_for_each(sql_common::by_id(users), long_crm_ids(ids));
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> ManagedDirectory::permission_sets(
    std::span<const std::string> user_ids) {
  const sql::Dialect dialect = database_.dialect();
  const std::string expires = "s.expirationdate";
  const auto found = sql_common::read_assignments(
      database_,
      "SELECT s.assigneeid, coalesce(s.permissionsetname, ''), CASE WHEN coalesce(s.isactive, true) THEN 1 "
      "ELSE 0 END, " +
          sql_common::expiration_expression(
              expires, sql_common::as_text(dialect, expires, sql_common::ColumnType::date_time)) +
          " FROM crm_permission_set_assignment s WHERE " +
          sql::in_list(dialect, "s.assigneeid", "users", true) + " AND " +
          sql_common::row_not_deleted_condition(dialect, "crm_permission_set_assignment", "s"),
      sql::list_of(dialect, crm_id_forms(user_ids)));
  return sql_common::rows_for_each(found, long_crm_ids(user_ids));
}

}  // namespace giftsync::schema::crm::managed
