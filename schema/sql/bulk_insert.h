// schema/sql: many rows into one table in the fastest way each back end has (pitfalls: durable writes): one
// statement over arrays on PostgreSQL, one prepared statement run row by row on SQLite. SOCI's own bulk is
// never used: it repeats the first execution's rows on PostgreSQL. Included by schema/'s .cpp files only.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::sql {

using Cell = std::variant<std::monostate, std::int64_t, std::string_view>;

template <class Type>
Cell cell_of(const std::optional<Type>& value) {
  return value ? Cell(*value) : Cell();
}

/// One quoted element of a PostgreSQL array literal.
std::string array_text(std::string_view value);

class BulkInsert {
 public:
  enum class Type { integer, text };
  struct Column {
    std::string_view name;
    Type type;
  };
  /// `suffix` follows the rows: "ON CONFLICT DO NOTHING". Names are constants of the program.
  BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
             std::string_view suffix = "");

  /// One cell a column. Texts are copied.
  void add(std::initializer_list<Cell> cells);
  bool empty() const { return rows_ == 0; }
  /// Inserts all rows added so far and forgets them; returns how many rows were really inserted.
  std::int64_t run(soci::session& session);
  /// Runs several: on PostgreSQL as one statement, because each one costs three trips to the server.
  static void run_together(soci::session& session, std::initializer_list<BulkInsert*> inserts);

 private:
  static std::int64_t run_arrays(soci::session& session, const std::vector<BulkInsert*>& inserts);
  /// INSERT INTO ... SELECT * FROM unnest(...), with parameters of its own names.
  std::string array_statement() const;
  void forget();
  std::int64_t run_row_by_row(soci::session& session);

  struct Value {
    soci::indicator indicator;
    long long integer;
    std::string text;
  };
  const Dialect dialect_;
  const std::string table_;
  const std::vector<Column> columns_;
  const std::string suffix_;
  std::vector<std::string> arrays_;             // PostgreSQL: one array literal a column, still open
  std::vector<std::vector<Value>> table_rows_;  // SQLite
  std::size_t rows_ = 0;
};

}  // namespace giftsync::schema::sql
