// crm/sql/managed: one table of the managed CRM as the target of an import: adds columns and upserts
// batches of rows by Id, or tells what that would do. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "crm/sql/columns.h"
#include "crm/sql/table_rows.h"

namespace giftsync::crm::managed {

struct NewColumn {
  std::string name;
  crm::sql_crm::ColumnType type;
  bool custom;  ///< an existing text column of this name without values takes the type
};

struct ResolvedColumns {
  std::vector<crm::sql_crm::Column> all;  ///< the table's columns
  std::vector<std::string>
      kept_as_text;  ///< wanted columns whose conversion an object of the database prevents
};

/// Adds the wanted columns that the table lacks, and converts text columns without values to the wanted
/// type. One import at a time. Throws DependencyError when there is no such table.
ResolvedColumns ensure_columns(sql::Database& database, const std::string& table,
                               const std::vector<NewColumn>& wanted);

/// The columns as ensure_columns() would leave them. Writes nothing; does not foresee `kept_as_text`.
ResolvedColumns plan_columns(sql::Database& database, const std::string& table,
                             const std::vector<NewColumn>& wanted);

/// Those of the columns that the table lacks or has no value of.
std::vector<std::string> columns_without_values(sql::Database& database, const std::string& table,
                                                const std::vector<std::string>& columns);

struct UpsertCounts {
  std::size_t inserted = 0;
  std::size_t updated = 0;
  std::size_t unchanged = 0;
};

/// Upserts rows of distinct Ids in one transaction; an equal row is not touched. A row that is there under
/// the short form of an Id gets the long one. `columns` are the rows' columns, with id at `id_index`. Writes
/// and returns nothing when a concurrent import has changed the type of a column. Throws ConstraintViolation
/// when the database refuses a row.
std::optional<UpsertCounts> upsert_rows(sql::Database& database, const std::string& table,
                                        const std::vector<crm::sql_crm::Column>& columns,
                                        std::size_t id_index,
                                        const std::vector<crm::sql_crm::TextRows::Row>& rows);

/// Deletes the rows with these Ids, or only counts them. Returns how many there are.
std::size_t delete_rows(sql::Database& database, const std::string& table,
                        const std::vector<std::string>& ids, bool only_count);

/// What upsert_rows() would do. Writes nothing.
UpsertCounts plan_rows(sql::Database& database, const std::string& table,
                       const std::vector<crm::sql_crm::Column>& columns, std::size_t id_index,
                       const std::vector<crm::sql_crm::TextRows::Row>& rows);

}  // namespace giftsync::crm::managed
