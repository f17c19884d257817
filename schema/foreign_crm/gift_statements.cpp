#include "schema/foreign_crm/gift_statements.h"

#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::foreign_crm {

using sql_crm::TextRows;

void lock_records(soci::session& session, Dialect dialect) {
  // SQLite: BEGIN IMMEDIATE has done it.
  if (dialect == Dialect::postgresql)
    session << "SELECT pg_advisory_xact_lock(hashtext('giftsync gift records'))";
}

std::string transaction_of(Dialect dialect, const Tables& tables, const std::string& alias,
                           const std::string& object) {
  // SQLite's RETURNING knows the table by its columns only.
  std::string column = tables.column(alias, object, kTransaction);
  if (dialect == Dialect::sqlite)
    column = sql_crm::quoted(tables.mapping().column_name(object, kTransaction));
  return "cast(" + column + " as " + (dialect == Dialect::sqlite ? "integer" : "bigint") + ")";
}

std::set<std::int64_t> present(soci::session& session, Dialect dialect, const Tables& tables,
                               const std::string& object, const std::vector<std::int64_t>& wanted) {
  if (wanted.empty()) return {};
  // Through a join rather than a list, so that the column's own type and index count.
  TextRows texts(dialect, 1);
  for (const std::int64_t id : wanted) texts.add({std::to_string(id)});
  return run_returning(session, texts,
                       "SELECT " + transaction_of(dialect, tables, "t", object) + " FROM " +
                           texts.as_table() + " JOIN " + tables.table(object) + " t ON " +
                           tables.column("t", object, kTransaction) + " = " +
                           tables.cast("c0", object, kTransaction));
}

std::string quoted_column(const Tables& tables, GiftField field) {
  return sql_crm::quoted(tables.mapping().gift_column(field));
}

std::string cast_cell(const Tables& tables, std::size_t index, GiftField field) {
  return tables.cast("c" + std::to_string(index), kGift, std::string(field_of(field).name));
}

std::string same_transaction(const Tables& tables) {
  return tables.column("t", kGift, kTransaction) + " = " + tables.cast("c0", kGift, kTransaction);
}

std::string returning(Dialect dialect, const Tables& tables, const std::string& alias) {
  return " RETURNING " + transaction_of(dialect, tables, alias, kGift);
}

}  // namespace giftsync::schema::foreign_crm
