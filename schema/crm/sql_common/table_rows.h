// schema/crm/sql_common: reads whole rows of a CRM table, each field as text. Included by schema/'s .cpp
// files only.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/crm/row_reader.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::sql_common {

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
std::vector<Column> readable_columns(soci::session& session, sql::Dialect dialect, const std::string& table);

/// The rows with a key above `after`, by the key's bytes.
std::vector<CrmRow> read_page(soci::session& session, sql::Dialect dialect, const TableToRead& table,
                              const std::string& after, std::size_t limit);
std::optional<CrmRow> read_row(soci::session& session, sql::Dialect dialect, const TableToRead& table,
                               const std::string& id);

}  // namespace giftsync::schema::crm::sql_common
