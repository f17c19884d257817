// schema/sql_crm: the columns that a table of the CRM really has, custom fields and those an admin added
// included, and how values of each type are read and sorted alike on both back ends. Included by schema/'s
// .cpp files only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

enum class ColumnType { text, number, date, date_time, checkbox };

struct Column {
  std::string name;  ///< lower case
  ColumnType type;
  std::string sql_type;         ///< as the database calls it, without a length
  std::string sized_type = {};  ///< with its length; a cast to it cuts what is too long
};

/// In the table's order; empty when there is no such table.
std::vector<Column> columns_of(soci::session& session, Dialect dialect, const std::string& table);

/// Compares names as SQL does, without case. Null when there is none.
const Column* find_column(const std::vector<Column>& columns, std::string_view name);

/// Whether the column alone is unique in the table, by an index or a constraint that covers every row.
bool is_unique(soci::session& session, Dialect dialect, const std::string& table, const std::string& column);

/// An identifier in quotes; `name` holds letters, digits and underscores only.
std::string quoted(std::string_view name);

/// An SQL expression: the value as text. Times as schema/time.h writes them, dates as "2022-05-07",
/// checkboxes as "true" and "false"; null stays null.
std::string as_text(Dialect dialect, const std::string& expression, ColumnType type);

/// An SQL expression to order by: numbers by value, dates and times by time, text by its bytes with ASCII
/// letters folded to lower case, so that both back ends agree; text_order.h folds all others.
std::string as_sort_key(Dialect dialect, const std::string& expression, ColumnType type);

/// A condition: the expression, a number of that type above 0, can be a Transaction Id. Replicated numbers
/// may be 7.5, which is not gift 8. Without its lower bound, which an index is entered by: there must be only
/// one.
std::string is_whole_id(Dialect dialect, const std::string& expression, std::string_view sql_type);

/// The expression compared by its bytes: how ids break ties.
std::string bytewise(Dialect dialect, const std::string& expression);

}  // namespace giftsync::schema::sql_crm
