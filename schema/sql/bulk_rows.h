// schema/sql: many rows as the input of one statement, in the fastest way of each back end: arrays on
// PostgreSQL; on SQLite one prepared statement that is run row by row through SQLite's own API, because
// SOCI binds by name, copies each text twice and prepares the statement every time, and this is the hot
// path. SOCI's bulk operations are never used: on PostgreSQL they repeat the rows of the first execution.
// Included by schema/'s .cpp files only.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::sql {

using Cell = std::variant<std::monostate, std::int64_t, std::string_view>;

class BulkRows {
 public:
  enum class Type { integer, text };
  struct Column {
    std::string_view name;
    Type type;
  };
  /// Names are constants of the program.
  BulkRows(Dialect dialect, std::vector<Column> columns);

  /// One cell per column. Texts are copied.
  void add(std::span<const Cell> cells);
  void add(std::initializer_list<Cell> cells) { add(std::span(cells.begin(), cells.size())); }
  bool empty() const { return rows_ == 0; }
  std::size_t size() const { return rows_; }

  /// "a, b"
  std::string names() const;
  /// SQLite: ":a, :b"
  std::string parameters() const;
  /// PostgreSQL: "unnest(cast(:a as bigint[]), cast(:b as text[])) AS input_row (a, b)"
  std::string as_table() const { return as_table(""); }

  // For a statement over several tables of rows on PostgreSQL: parameter names get a prefix per table.
  std::string as_table(const std::string& prefix) const;
  void bind_arrays(soci::statement& statement, const std::string& prefix);
  void clear();

  /// Runs a statement over all rows added so far and clears them: on SQLite `row_statement` once per
  /// row, with parameters named like the columns, in any order; on PostgreSQL `table_statement` once,
  /// over as_table(). Returns the number of database rows changed.
  std::int64_t run(soci::session& session, const std::string& row_statement,
                   const std::string& table_statement);
  /// The same; returns the first column, an integer, of the input rows that changed something.
  /// `table_statement` returns it (RETURNING).
  std::vector<std::int64_t> run_returning_keys(soci::session& session, const std::string& row_statement,
                                               const std::string& table_statement);

 private:
  template <class Touched>
  void run_row_by_row(soci::session& session, const std::string& statement, Touched&& touched);

  /// A cell on SQLite. The texts are concatenated in texts_.
  struct Value {
    enum class Kind { absent, integer, text } kind;
    std::int64_t integer_or_offset;
    std::size_t length;
  };
  const Dialect dialect_;
  const std::vector<Column> columns_;
  std::vector<std::string> arrays_;  // PostgreSQL: one unfinished array literal per column
  std::vector<Value> values_;        // SQLite: row after row
  std::string texts_;                // SQLite
  std::size_t rows_ = 0;
};

// Inserts many rows into one table in the fastest way of each back end (see bulk_rows.h).
// Included by schema/'s .cpp files only.

class BulkInsert {
 public:
  using Type = BulkRows::Type;
  using Column = BulkRows::Column;
  /// `suffix` follows the rows: "ON CONFLICT DO NOTHING". Names are constants of the program.
  BulkInsert(Dialect dialect, std::string_view table, std::vector<Column> columns,
             std::string_view suffix = "");

  /// One cell per column. Texts are copied.
  void add(std::span<const Cell> cells) { rows_.add(cells); }
  void add(std::initializer_list<Cell> cells) { rows_.add(cells); }
  bool empty() const { return rows_.empty(); }
  /// Inserts all rows added so far and clears them; returns how many rows were inserted.
  std::int64_t run(soci::session& session);
  /// The same; returns the first column, an integer, of the inserted rows.
  std::vector<std::int64_t> run_returning_keys(soci::session& session);
  /// Runs several inserts: on PostgreSQL as one statement, because each statement costs three round
  /// trips.
  static void run_combined(soci::session& session, std::initializer_list<BulkInsert*> inserts);

 private:
  std::string row_statement() const;
  std::string table_statement(const std::string& prefix = "") const;

  BulkRows rows_;
  const std::string table_;
  const std::string key_;  // the first column
  const std::string suffix_;
};

}  // namespace giftsync::sql
