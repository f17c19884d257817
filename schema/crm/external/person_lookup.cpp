#include "schema/crm/external/person_lookup.h"

#include <set>

#include "schema/contact_normalization.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::external {
namespace {

std::set<std::string> missing_ids(soci::session& session, const MappedTables& tables,
                                  const std::string& object, const std::set<std::string>& ids) {
  if (ids.empty() || !tables.has(object)) return {};
  const std::string list = sql::list_of(tables.dialect(), Keys(ids.begin(), ids.end()));
  std::string query = "SELECT " + tables.text("p", object, "Id") + " FROM " + tables.table(object) +
                      " p WHERE " +
                      sql::in_list(tables.dialect(), tables.column("p", object, "Id"), "ids", true);
  if (object == "account" || object == "user")
    query += " UNION ALL SELECT '' WHERE NOT EXISTS (SELECT 1 FROM " + tables.table(object) + ")";
  std::set<std::string> missing = ids;
  std::string id;
  soci::statement statement = sql::bound(session, query, soci::into(id), soci::use(list));
  sql::each_row(statement, [&] {
    if (id.empty())
      missing.clear();
    else
      missing.erase(id);
  });
  return missing;
}

}  // namespace

sql_common::RowIds missing_rows(soci::session& session, const MappedTables& tables,
                                const sql_common::RowIds& wanted) {
  sql_common::RowIds missing;
  for (const auto& [object, ids] : wanted) missing[object] = missing_ids(session, tables, object, ids);
  return missing;
}

std::string account_exists_condition(const MappedTables& tables, const std::string& id) {
  if (!tables.has("account")) return "true";
  return "(EXISTS (SELECT 1 FROM " + tables.table("account") + " a WHERE " +
         tables.column("a", "account", "Id") + " = " + id + ") OR NOT EXISTS (SELECT 1 FROM " +
         tables.table("account") + "))";
}

std::string order_by_clause(const MappedTables& tables, const std::string& object, const OrderBy& by) {
  const std::string id = sql_common::bytewise(tables.dialect(), tables.column("p", object, "Id"));
  const sql_common::Column* column = tables.type(object, by.field);
  const std::string key =
      column ? sql_common::as_sort_key(tables.dialect(), tables.column("p", object, by.field), column->type)
             : id;
  return key + (by.descending ? " DESC" : " ASC") + " NULLS LAST, " + id;
}

std::string email_expression(const std::string& column) {
  return "lower(trim(" + column + "))";
}

Keys email_spellings(const Keys& keys) {
  std::set<std::string> all(keys.begin(), keys.end());
  for (const std::string& key : keys) all.insert(email_key_in_unicode(key));
  return {all.begin(), all.end()};
}

}  // namespace giftsync::schema::crm::external
