// schema/sql: many rows as the input of one statement, in the fastest way each back end has (pitfalls:
// durable writes): arrays on PostgreSQL, one prepared statement run row by row on SQLite, through SQLite's
// own API, because SOCI binds by name, copies each text twice and prepares anew each time, and here the
// program spends its time. SOCI's own bulk is never used: it repeats the first execution's rows on
// PostgreSQL. Included by schema/'s .cpp files only.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
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

class BulkRows {
 public:
  enum class Type { integer, text };
  struct Column {
    std::string_view name;
    Type type;
  };
  /// Names are constants of the program.
  BulkRows(Dialect dialect, std::vector<Column> columns);

  /// One cell a column. Texts are copied.
  void add(std::span<const Cell> cells);
  void add(std::initializer_list<Cell> cells) { add(std::span(cells.begin(), cells.size())); }
  bool empty() const { return rows_ == 0; }
  std::size_t size() const { return rows_; }

  /// "a, b"
  std::string names() const;
  /// SQLite: ":a, :b"
  std::string parameters() const;
  /// PostgreSQL: "unnest(cast(:a as bigint[]), cast(:b as text[])) AS row_given (a, b)"
  std::string as_table() const { return as_table(""); }

  // For a statement over several tables of rows on PostgreSQL: parameters named with a prefix of each table.
  std::string as_table(const std::string& prefix) const;
  void bind_arrays(soci::statement& statement, const std::string& prefix);
  void clear();

  /// Runs a statement over all rows added so far and forgets them: on SQLite `row_statement` once for each
  /// row, its parameters named as the columns, in any order; on PostgreSQL `table_statement` once, over
  /// as_table(). Returns how many rows of the database it touched.
  std::int64_t run(soci::session& session, const std::string& row_statement,
                   const std::string& table_statement);
  /// The same, and returns the first column, an integer, of the given rows that touched something;
  /// `table_statement` returns it (RETURNING).
  std::vector<std::int64_t> run_touching(soci::session& session, const std::string& row_statement,
                                         const std::string& table_statement);

 private:
  template <class Touched>
  void run_row_by_row(soci::session& session, const std::string& statement, Touched&& touched);

  /// A cell on SQLite. Texts lie one after the other in texts_.
  struct Value {
    enum class Kind { absent, integer, text } kind;
    std::int64_t integer_or_offset;
    std::size_t length;
  };
  const Dialect dialect_;
  const std::vector<Column> columns_;
  std::vector<std::string> arrays_;  // PostgreSQL: one array literal a column, still open
  std::vector<Value> values_;        // SQLite: row after row
  std::string texts_;                // SQLite
  std::size_t rows_ = 0;
};

}  // namespace giftsync::schema::sql
