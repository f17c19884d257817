#include "schema/crm/sql_common/text_rows.h"

#include <cstdlib>

#include "schema/sql/bulk_insert.h"

namespace giftsync::schema::crm::sql_common {

TextRows::TextRows(sql::Dialect dialect, std::size_t columns)
    : dialect_(dialect),
      columns_(columns),
      lists_(dialect == sql::Dialect::sqlite ? 1 : columns, dialect == sql::Dialect::sqlite ? "[" : "{") {}

void TextRows::add(const Row& row) {
  if (row.size() != columns_) std::abort();  // a bug: the caller's columns and cells differ
  const bool sqlite = dialect_ == sql::Dialect::sqlite;
  const char* comma = rows_++ == 0 ? "" : ",";
  if (sqlite) lists_[0].append(comma).append("[");
  for (std::size_t i = 0; i < columns_; ++i) {
    std::string& list = lists_[sqlite ? 0 : i];
    list += sqlite ? (i == 0 ? "" : ",") : comma;
    if (!row[i]) {
      list += sqlite ? "null" : "NULL";
    } else {
      list += sqlite ? sql::json_text(*row[i]) : sql::array_text(*row[i]);
    }
  }
  if (sqlite) lists_[0] += ']';
}

std::string TextRows::as_table() const {
  std::string names;
  std::string sources;
  for (std::size_t i = 0; i < columns_; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    const std::string name = "c" + std::to_string(i);
    names += comma + name;
    sources += dialect_ == sql::Dialect::sqlite
                   ? comma + "json_extract(value, '$[" + std::to_string(i) + "]') AS " + name
                   : comma + "cast(:" + name + " as text[])";
  }
  if (dialect_ == sql::Dialect::sqlite) return "(SELECT " + sources + " FROM json_each(:rows)) AS given";
  return "unnest(" + sources + ") AS given(" + names + ")";
}

void TextRows::bind(soci::statement& statement) {
  for (std::string& list : lists_) {
    if (!closed_) list += dialect_ == sql::Dialect::sqlite ? ']' : '}';
    statement.exchange(soci::use(list));
  }
  closed_ = true;
}

}  // namespace giftsync::schema::crm::sql_common
