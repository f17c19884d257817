// schema/crm/managed: one table of the managed CRM as the target of an import: adds columns and upserts
// batches of rows by Id. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/crm/sql_common/columns.h"
#include "schema/crm/sql_common/text_rows.h"

namespace giftsync::schema::crm::managed {

struct NewColumn {
  std::string name;
  sql_common::ColumnType type;
  bool custom;  ///< an existing text column of this name without values takes the type
};

struct ResolvedColumns {
  std::vector<sql_common::Column> all;  ///< the table's columns
  std::vector<std::string>
      kept_as_text;  ///< wanted columns whose conversion an object of the database prevents
};

/// Adds the wanted columns that the table lacks, and converts text columns without values to the wanted
/// type. One import at a time. Throws DependencyError when there is no such table.
ResolvedColumns ensure_columns(sql::Database& database, const std::string& table,
                               const std::vector<NewColumn>& wanted);

struct UpsertCounts {
  std::size_t inserted = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
};

/// Upserts rows of distinct Ids in one transaction; an equal row is not touched. `columns` are the rows'
/// columns, with id at `id_index`. Writes and returns nothing when a concurrent import has changed the
/// type of a column. Throws ConstraintViolation when the database refuses a row.
std::optional<UpsertCounts> upsert_rows(sql::Database& database, const std::string& table,
                                        const std::vector<sql_common::Column>& columns, std::size_t id_index,
                                        const std::vector<sql_common::TextRows::Row>& rows);

}  // namespace giftsync::schema::crm::managed
