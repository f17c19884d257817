// schema/sql_crm: rows of nullable texts as a table inside one SQL statement, whatever their number: arrays
// on PostgreSQL, one JSON text on SQLite. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

class TextRows {
 public:
  using Row = std::vector<std::optional<std::string>>;

  TextRows(Dialect dialect, std::size_t columns);

  /// One text a column, well-formed UTF-8 without NUL.
  void add(const Row& row);
  bool empty() const { return rows_ == 0; }

  /// A table expression named `given` with the columns c0, c1, ... of type text.
  std::string as_table() const;

  /// Binds the rows to a statement that will name as_table(), before it is prepared; they must outlive it.
  /// May be repeated for another statement; nothing is added after the first.
  void bind(soci::statement& statement);

 private:
  const Dialect dialect_;
  const std::size_t columns_;
  std::size_t rows_ = 0;
  bool closed_ = false;
  std::vector<std::string> lists_;  // array literals, one a column; on SQLite one JSON array of rows
};

}  // namespace giftsync::schema::sql_crm
