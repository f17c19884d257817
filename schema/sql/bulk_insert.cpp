#include "schema/sql/bulk_insert.h"

namespace giftsync::schema::sql {

BulkInsert::BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
                       std::string_view suffix)
    : rows_(dialect, columns), table_(table), key_(columns.front().name), suffix_(suffix) {}

std::string BulkInsert::row_statement() const {
  return "INSERT INTO " + table_ + " (" + rows_.names() + ") VALUES (" + rows_.parameters() + ") " + suffix_;
}

std::string BulkInsert::table_statement(const std::string& prefix) const {
  return "INSERT INTO " + table_ + " (" + rows_.names() + ") SELECT " + rows_.names() + " FROM " +
         rows_.as_table(prefix) + " " + suffix_;
}

std::int64_t BulkInsert::run(soci::session& session) {
  return rows_.run(session, row_statement(), table_statement());
}

std::vector<std::int64_t> BulkInsert::run_returning_keys(soci::session& session) {
  return rows_.run_returning_keys(session, row_statement(), table_statement() + " RETURNING " + key_);
}

void BulkInsert::run_combined(soci::session& session, Dialect dialect,
                              std::initializer_list<BulkInsert*> inserts) {
  if (dialect == Dialect::sqlite) {
    for (BulkInsert* insert : inserts) insert->run(session);
    return;
  }
  std::string text;
  soci::statement statement(session);
  std::size_t number = 0;
  for (BulkInsert* insert : inserts) {
    if (insert->empty()) continue;
    const std::string prefix = "t" + std::to_string(++number) + "_";
    text += (number == 1 ? "WITH " : ", ") + prefix + "rows AS (" + insert->table_statement(prefix) + ")";
    insert->rows_.bind_arrays(statement, prefix);
  }
  if (number == 0) return;
  statement.alloc();
  statement.prepare(text + " SELECT 1", kRunOnce);
  statement.define_and_bind();
  each_row(statement, [] {});
  for (BulkInsert* insert : inserts) insert->rows_.clear();
}

}  // namespace giftsync::schema::sql
