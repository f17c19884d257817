// schema/crm/external: users, and the permission sets that are assigned to them (REQ-36).
#include "schema/contact_normalization.h"
#include "schema/crm/external/directory.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/sql_common/directory_rows.h"

namespace giftsync::schema::crm::external {
namespace {

/// 1 unless the field is false; a CRM without the field has only active rows.
std::string is_active(const MappedTables& tables, const std::string& object) {
  const std::string column = tables.column("p", object, "IsActive");
  return "CASE WHEN coalesce(" + (column == "NULL" ? "true" : column) + ", true) THEN 1 ELSE 0 END";
}

std::string expiration(const MappedTables& tables) {
  const std::string object = "permission_set_assignment";
  const std::string column = tables.column("p", object, "ExpirationDate");
  const sql_common::Column* type = tables.type(object, "ExpirationDate");
  if (!type) return "''";
  // SQLite may store times in text columns, in a form that its functions parse.
  const sql_common::Column read =
      tables.dialect() == sql::Dialect::sqlite
          ? sql_common::Column{type->name, sql_common::ColumnType::date_time, type->sql_type}
          : *type;
  return sql_common::expiration_expression(column, as_text(tables.dialect(), column, read));
}

/// The users whose `field` is in the list.
std::string users_query(const MappedTables& tables, const std::string& field) {
  return "SELECT " + tables.text("p", "user", "Id") + ", " + tables.text("p", "user", "Name") + ", " +
         tables.text("p", "user", "Email") + ", " + is_active(tables, "user") + " FROM " +
         tables.rows("user") + " AND " + sql::in_list(tables.dialect(), field, "keys", true);
}

}  // namespace

/// Active ones first; without those that have no Id.
std::vector<std::vector<CrmUser>> ExternalDirectory::find_users_by_email(
    std::span<const std::string> email_keys) {
  const MappedTables& tables = crm_.tables();
  const Keys keys = sql_common::distinct_keys(email_keys);
  if (keys.empty() || !tables.has("user")) return std::vector<std::vector<CrmUser>>(email_keys.size());
  const std::string id = tables.column("p", "user", "Id");
  const std::string query =
      users_query(tables, email_expression(tables, tables.column("p", "user", "Email"))) + " AND " + id +
      " IS NOT NULL ORDER BY " + is_active(tables, "user") + " DESC, " +
      sql_common::bytewise(tables.dialect(), id);
  sql_common::RowsByKey<CrmUser> found;
  for (CrmUser& user : sql_common::read_users(crm_.database(), query,
                                              sql::list_of(tables.dialect(), email_spellings(keys)))) {
    std::vector<CrmUser>& of_key = found[email_key(user.email)];
    if (of_key.size() < kMaxCandidates) of_key.push_back(std::move(user));
  }
  return sql_common::rows_for_each(found, email_keys);
}

std::vector<std::optional<CrmUser>> ExternalDirectory::find_users_by_id(std::span<const std::string> ids) {
  const MappedTables& tables = crm_.tables();
  const Keys wanted = crm_id_forms(ids);
  if (wanted.empty() || !tables.has("user")) return std::vector<std::optional<CrmUser>>(ids.size());
  const auto users =
      sql_common::read_users(crm_.database(), users_query(tables, tables.column("p", "user", "Id")),
                             sql::list_of(tables.dialect(), wanted));
  return sql_common::first_for_each(sql_common::by_id(users), long_crm_ids(ids));
}

std::optional<std::vector<std::vector<PermissionSetAssignment>>> ExternalDirectory::permission_sets(
    std::span<const std::string> user_ids) {
  const MappedTables& tables = crm_.tables();
  const std::string object = "permission_set_assignment";
  if (!tables.has(object)) return std::nullopt;
  const Keys users = crm_id_forms(user_ids);
  if (users.empty()) return std::vector<std::vector<PermissionSetAssignment>>(user_ids.size());
  const auto found = sql_common::read_assignments(
      crm_.database(),
      "SELECT " + tables.text("p", object, "AssigneeId") + ", " +
          tables.text("p", object, "PermissionSetName") + ", " + is_active(tables, object) + ", " +
          expiration(tables) + " FROM " + tables.rows(object) + " AND " +
          sql::in_list(tables.dialect(), tables.column("p", object, "AssigneeId"), "users", true),
      sql::list_of(tables.dialect(), users));
  return sql_common::rows_for_each(found, long_crm_ids(user_ids));
}

}  // namespace giftsync::schema::crm::external
