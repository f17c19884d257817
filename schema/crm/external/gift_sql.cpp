#include "schema/crm/external/gift_sql.h"

#include "schema/crm/sql_common/transaction_rows.h"

namespace giftsync::schema::crm::external {

std::string as_integer(sql::Dialect dialect, const std::string& expression) {
  return "cast(" + expression + " as " + (dialect == sql::Dialect::sqlite ? "integer" : "bigint") + ")";
}

std::string transaction_of(const MappedTables& tables, const std::string& alias, const std::string& object) {
  // SQLite's RETURNING accepts only unqualified columns.
  if (tables.dialect() == sql::Dialect::sqlite)
    return as_integer(tables.dialect(),
                      sql_common::quoted(tables.mapping().column_name(object, kTransaction)));
  return as_integer(tables.dialect(), tables.column(alias, object, kTransaction));
}

std::set<std::int64_t> existing_transactions(soci::session& session, const MappedTables& tables,
                                             const std::string& object,
                                             const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return {};
  // Through a join rather than a list, so that the column's own type and index count.
  sql_common::TextRows texts(tables.dialect(), 1);
  for (const std::int64_t id : wanted) texts.add({std::to_string(id)});
  return sql_common::run_returning(session, texts,
                                   "SELECT " + transaction_of(tables, "t", object) + " FROM " +
                                       texts.as_table() + " JOIN " + tables.table(object) + " t ON " +
                                       tables.column("t", object, kTransaction) + " = " +
                                       tables.cast("c0", object, kTransaction));
}

std::string quoted_column(const MappedTables& tables, GiftField field) {
  return sql_common::quoted(tables.mapping().gift_column(field));
}

std::string cast_cell(const MappedTables& tables, std::size_t index, GiftField field) {
  return tables.cast("c" + std::to_string(index), kGiftObject, std::string(descriptor_of(field).name));
}

std::string same_transaction_condition(const MappedTables& tables) {
  return tables.column("t", kGiftObject, kTransaction) + " = " + tables.cast("c0", kGiftObject, kTransaction);
}

std::string returning_clause(const MappedTables& tables, const std::string& alias) {
  return " RETURNING " + transaction_of(tables, alias, kGiftObject);
}

}  // namespace giftsync::schema::crm::external
