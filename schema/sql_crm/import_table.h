// schema/sql_crm: one table of the managed CRM as the target of an import: its new columns, and batches of
// rows upserted by Id. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql_crm/columns.h"
#include "schema/sql_crm/text_rows.h"

namespace giftsync::schema::sql_crm {

/// The column of a header cell: trimmed, without a byte order mark, lower case.
std::string column_name(std::string_view header_cell);

struct NewColumn {
  std::string name;
  ColumnType type;
  bool custom;  ///< a text column of this name in which no value stands takes the type
};

/// The table's columns after those of `wanted` that it lacked have been added, and those that were text for
/// want of any value have their type. Throws BrokenWorld when there is no such table.
std::vector<Column> with_columns(sql::Database& database, const std::string& table,
                                 const std::vector<NewColumn>& wanted);

struct UpsertCounts {
  std::size_t inserted = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
};

/// Upserts rows of distinct Ids in one transaction; a row that already reads so is not touched. `columns` are
/// the rows' columns, the one named id at `id_at`. Throws ConstraintBroken when the database refuses a row.
UpsertCounts upsert_rows(sql::Database& database, const std::string& table,
                         const std::vector<Column>& columns, std::size_t id_at,
                         const std::vector<TextRows::Row>& rows);

}  // namespace giftsync::schema::sql_crm
