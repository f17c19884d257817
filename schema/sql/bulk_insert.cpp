#include "schema/sql/bulk_insert.h"

namespace giftsync::schema::sql {

BulkInsert::BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
                       std::string_view suffix)
    : rows_(dialect, columns), table_(table), key_(columns.front().name), suffix_(suffix) {}

std::string BulkInsert::row_statement() const {
  return "INSERT INTO " + table_ + " (" + rows_.names() + ") VALUES (" + rows_.parameters() + ") " + suffix_;
}

std::string BulkInsert::table_statement() const {
  return "INSERT INTO " + table_ + " (" + rows_.names() + ") SELECT " + rows_.names() + " FROM " +
         rows_.as_table() + " " + suffix_;
}

std::int64_t BulkInsert::run(soci::session& session) {
  return rows_.run(session, row_statement(), table_statement());
}

std::vector<std::int64_t> BulkInsert::run_inserting(soci::session& session) {
  return rows_.run_touching(session, row_statement(), table_statement() + " RETURNING " + key_);
}

}  // namespace giftsync::schema::sql
