// schema/crm/sql_common: any number of rows of nullable texts as a table inside one SQL statement: arrays
// on PostgreSQL, one JSON text on SQLite. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

class TextRows {
 public:
  using Row = std::vector<std::optional<std::string>>;

  TextRows(sql::Dialect dialect, std::size_t columns);

  /// One text per column, well-formed UTF-8 without NUL.
  void add(const Row& row);
  bool empty() const { return rows_ == 0; }

  /// A table expression named `given` with the columns c0, c1, ... of type text.
  std::string as_table() const;

  /// Binds the rows to a statement that names as_table(), before it is prepared; they must outlive it.
  /// May be repeated for another statement; no rows may be added after the first call.
  void bind(soci::statement& statement);

 private:
  const sql::Dialect dialect_;
  const std::size_t columns_;
  std::size_t rows_ = 0;
  bool closed_ = false;
  std::vector<std::string> lists_;  // array literals, one per column; on SQLite one JSON array of rows
};

}  // namespace giftsync::schema::crm::sql_common
