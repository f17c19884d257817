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

struct SettledColumns {
  std::vector<Column> all;  ///< the table's
  std::vector<std::string>
      kept_text;  ///< of the wanted: something of the database stands in their type's way
};

/// Adds those of `wanted` that the table lacks, and gives those that were text for want of any value their
/// type. One import at a time. Throws BrokenWorld when there is no such table.
SettledColumns with_columns(sql::Database& database, const std::string& table,
                            const std::vector<NewColumn>& wanted);

struct UpsertCounts {
  std::size_t inserted = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
};

/// Upserts rows of distinct Ids in one transaction; a row that already reads so is not touched. `columns` are
/// the rows' columns, the one named id at `id_at`. Nothing, and nothing is written, when one of them has
/// another type by now: another import gave it one. Throws ConstraintBroken when the database refuses a row.
std::optional<UpsertCounts> upsert_rows(sql::Database& database, const std::string& table,
                                        const std::vector<Column>& columns, std::size_t id_at,
                                        const std::vector<TextRows::Row>& rows);

}  // namespace giftsync::schema::sql_crm
