// schema/crm/managed: changes the types of a table's custom columns: text that holds only numbers, dates or
// times becomes that (SYNC-37). Included by schema/'s .cpp files only.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "schema/crm/managed/typed_value.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::managed {

/// "NUMERIC".
std::string_view sql_type_name(sql_common::ColumnType type);

/// One import at a time adds columns, changes their types and counts rows.
void lock_for_import(soci::session& session, sql::Dialect dialect);

void add_column(soci::session& session, const std::string& table, const std::string& name,
                sql_common::ColumnType type);

/// Converts a text column whose values all suit the type. An admin's own index or view may prevent it: then
/// it stays text, and the result is false.
bool change_type(soci::session& session, sql::Dialect dialect, const std::string& table,
                 const std::string& column, sql_common::ColumnType type);

/// The type of a text column's values, without the rows that `skipped` names. Reads page by page; stops when
/// most values are no more than text.
TypeDetector detect_stored_type(soci::session& session, const std::string& table, const std::string& column,
                                const std::function<bool(const std::string& id)>& skipped);

enum class TypeChangeOutcome {
  done,
  prevented,   ///< by an object of the database
  not_needed,  ///< the column or its values have changed meanwhile
};
/// Converts a text column to the type that all its values have.
TypeChangeOutcome change_type_of_values(sql::Database& database, const std::string& table,
                                        const std::string& column, sql_common::ColumnType type);

}  // namespace giftsync::schema::crm::managed
