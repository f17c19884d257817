// crm/sql: reads whole rows of a CRM table, each field as text. Included by schema/'s .cpp
// files only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "crm/row_reader.h"
#include "crm/sql/columns.h"
#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

/// API names by column names in lower case.
using FieldNames = std::map<std::string, std::string>;

/// The API names of an object's known fields, but for those of its Id and of custom fields.
std::vector<std::string> known_fields(const std::string& object);

struct TableToRead {
  std::string table;  ///< quoted for SQL
  Column key;         ///< the column that rows are known by; its name as SQL quotes it
  std::vector<Column> columns;
  FieldNames field_names;
  std::string condition = "true";  ///< on the row t: others are not read
};

/// The table's columns that this user may read, with their names as they are written.
std::vector<Column> readable_columns(soci::session& session, const std::string& table);

/// The rows with a key above `after`, by the key's bytes.
std::vector<CrmRow> read_page(soci::session& session, const TableToRead& table, const std::string& after,
                              std::size_t limit);
std::optional<CrmRow> read_row(soci::session& session, const TableToRead& table, const std::string& id);

// Any number of rows of nullable texts as a table inside one SQL statement: arrays
// on PostgreSQL, one JSON text on SQLite. Included by schema/'s .cpp files only.

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

// Tells whether a text column holds numbers, which are ordered as text then
// (MATCH-33). Included by schema/'s .cpp files only.

struct TextNumbers {
  std::size_t values = 0;
  std::size_t numbers = 0;
  std::string other_id = {};  ///< of the first row that has another value; empty when all are numbers
  std::string other_value = {};

  bool are_mostly_numbers() const { return numbers > 0 && numbers * 2 >= values; }
};

/// Reads some thousand rows. `id` and `column` are SQL expressions of text.
TextNumbers read_text_numbers(soci::session& session, const std::string& table, const std::string& id,
                              const std::string& column);

/// "KEY: FIELD is text, because contact 003X has "high", but most of its values are numbers; they are ordered
/// as text, 10 before 9".
std::string text_order_sentence(const std::string& key, const std::string& field, const std::string& object,
                                const TextNumbers& found);

}  // namespace giftsync::crm::sql_crm
