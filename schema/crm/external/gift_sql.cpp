#include "schema/crm/external/gift_sql.h"

#include "schema/crm/sql_common/transaction_rows.h"

namespace giftsync::schema::crm::external {

void lock_records(soci::session& session, sql::Dialect dialect) {
  // SQLite: BEGIN IMMEDIATE has done it.
  if (dialect == sql::Dialect::postgresql)
    session << "SELECT pg_advisory_xact_lock(hashtext('giftsync gift records'))";
}

std::string transaction_of(sql::Dialect dialect, const MappedTables& tables, const std::string& alias,
                           const std::string& object) {
  // SQLite's RETURNING accepts only unqualified columns.
  std::string column = tables.column(alias, object, kTransaction);
  if (dialect == sql::Dialect::sqlite)
    column = sql_common::quoted(tables.mapping().column_name(object, kTransaction));
  return "cast(" + column + " as " + (dialect == sql::Dialect::sqlite ? "integer" : "bigint") + ")";
}

std::set<std::int64_t> existing_transactions(soci::session& session, sql::Dialect dialect,
                                             const MappedTables& tables, const std::string& object,
                                             const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return {};
  // Through a join rather than a list, so that the column's own type and index count.
  sql_common::TextRows texts(dialect, 1);
  for (const std::int64_t id : wanted) texts.add({std::to_string(id)});
  return sql_common::run_returning(session, texts,
                                   "SELECT " + transaction_of(dialect, tables, "t", object) + " FROM " +
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

std::string returning_clause(sql::Dialect dialect, const MappedTables& tables, const std::string& alias) {
  return " RETURNING " + transaction_of(dialect, tables, alias, kGiftObject);
}

}  // namespace giftsync::schema::crm::external
