// schema/sql: inserts many rows into one table in the fastest way of each back end (see bulk_rows.h).
// Included by schema/'s .cpp files only.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/bulk_rows.h"

namespace giftsync::schema::sql {

class BulkInsert {
 public:
  using Type = BulkRows::Type;
  using Column = BulkRows::Column;
  /// `suffix` follows the rows: "ON CONFLICT DO NOTHING". Names are constants of the program.
  BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
             std::string_view suffix = "");

  /// One cell per column. Texts are copied.
  void add(std::initializer_list<Cell> cells) { rows_.add(cells); }
  bool empty() const { return rows_.empty(); }
  /// Inserts all rows added so far and clears them; returns how many rows were inserted.
  std::int64_t run(soci::session& session);
  /// The same; returns the first column, an integer, of the inserted rows.
  std::vector<std::int64_t> run_returning_keys(soci::session& session);
  /// Runs several inserts: on PostgreSQL as one statement, because each statement costs three round
  /// trips.
  static void run_combined(soci::session& session, Dialect dialect,
                           std::initializer_list<BulkInsert*> inserts);

 private:
  std::string row_statement() const;
  std::string table_statement(const std::string& prefix = "") const;

  BulkRows rows_;
  const std::string table_;
  const std::string key_;  // the first column
  const std::string suffix_;
};

}  // namespace giftsync::schema::sql
