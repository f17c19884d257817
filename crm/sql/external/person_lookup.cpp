#include "crm/sql/external/person_lookup.h"

#include <set>

#include "crm/sql/columns.h"
#include "platform/text.h"
#include "schema/contact_normalization.h"
#include "schema/ids.h"

namespace giftsync::crm::external {
namespace {

std::set<std::string> missing_ids(soci::session& session, const MappedTables& tables,
                                  const std::string& object, const std::set<std::string>& ids) {
  if (ids.empty() || !tables.has(object)) return {};
  const std::string list = sql::list_of(tables.dialect(), crm_id_forms(Keys(ids.begin(), ids.end())));
  std::string query = "SELECT " + tables.text("p", object, "Id") + " FROM " + tables.table(object) +
                      " p WHERE " +
                      sql::in_list(tables.dialect(), tables.column("p", object, "Id"), "ids", true) +
                      " AND " + tables.not_deleted("p", object);
  if (object == "account" || object == "user")
    query += " UNION ALL SELECT '' WHERE NOT EXISTS (SELECT 1 FROM " + tables.rows(object) + ")";
  std::set<std::string> missing = ids;
  std::string id;
  soci::statement statement = sql::bound(session, query, soci::into(id), soci::use(list));
  sql::each_row(statement, [&] {
    if (id.empty())
      missing.clear();
    else
      for (const std::string& form : crm_id_forms(std::span(&id, 1))) missing.erase(form);
  });
  return missing;
}

}  // namespace

crm::sql_crm::RowIds missing_rows(soci::session& session, const MappedTables& tables,
                                  const crm::sql_crm::RowIds& wanted) {
  crm::sql_crm::RowIds missing;
  for (const auto& [object, ids] : wanted) missing[object] = missing_ids(session, tables, object, ids);
  return missing;
}

std::string account_exists_condition(const MappedTables& tables, const std::string& id) {
  if (!tables.has("account")) return "true";
  return "(EXISTS (SELECT 1 FROM " + tables.table("account") + " a WHERE " +
         tables.column("a", "account", "Id") + " IN " +
         crm::sql_crm::crm_id_forms_expression(tables.dialect(), id) + " AND " +
         tables.not_deleted("a", "account") + ") OR NOT EXISTS (SELECT 1 FROM " + tables.rows("account") +
         "))";
}

std::string order_by_clause(const MappedTables& tables, const std::string& object, const OrderBy& by) {
  const std::string id = crm::sql_crm::bytewise(tables.dialect(), tables.column("p", object, "Id"));
  const crm::sql_crm::Column* column = tables.type(object, by.field);
  const std::string key =
      column ? crm::sql_crm::as_sort_key(tables.dialect(), tables.column("p", object, by.field), column->type)
             : id;
  return key + (by.descending ? " DESC" : " ASC") + " NULLS LAST, " + id;
}

std::string email_expression(const MappedTables& tables, const std::string& column) {
  return crm::sql_crm::email_key_expression(tables.dialect(), column, tables.is_unicode());
}

Keys email_spellings(const Keys& keys) {
  std::set<std::string> all(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    const std::string in_unicode = email_key_in_unicode(key);
    all.insert({in_unicode, ascii_lower(upper_case(in_unicode))});
  }
  return {all.begin(), all.end()};
}

}  // namespace giftsync::crm::external
