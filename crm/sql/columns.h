// crm/sql: the actual columns of a CRM table, including custom fields and columns that an
// admin added, and SQL expressions that read and sort values alike on both back ends. Included by
// schema/'s .cpp files only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

enum class ColumnType { text, number, date, date_time, checkbox };

struct Column {
  std::string name;  ///< lower case
  ColumnType type;
  std::string sql_type;         ///< the database's name of the type, without a length
  std::string sized_type = {};  ///< with its length; a cast to it truncates
};

/// In the table's order; empty when there is no such table.
std::vector<Column> columns_of(soci::session& session, const std::string& table);

/// Compares names case-insensitively, as SQL does. Null when there is none.
const Column* find_column(const std::vector<Column>& columns, std::string_view name);

/// Whether the column alone is unique, by an index or a constraint that covers every row.
bool is_unique(soci::session& session, const std::string& table, const std::string& column);

/// A quoted identifier; `name` has only letters, digits and underscores.
std::string quoted(std::string_view name);

/// An SQL expression: the value as text. Times as platform/time.h writes them, dates as "2022-05-07",
/// checkboxes as "true" and "false"; null stays null.
std::string as_text(sql::Dialect dialect, const std::string& expression, ColumnType type);

/// Whether a cell of IsDeleted says that its row was deleted.
bool is_deletion_mark(std::string_view text);

/// A condition: IsDeleted, a boolean, number or text, says nothing of the kind; or it is the time of the
/// deletion, and there is none.
std::string not_deleted_condition(sql::Dialect dialect, const std::string& expression, ColumnType type);
/// The same of the row `alias` of a table with the key "id", whether or not it has the column IsDeleted: an
/// import or plain SQL may add it at any time.
std::string row_not_deleted_condition(sql::Dialect dialect, const std::string& table,
                                      const std::string& alias);

/// An SQL expression to order by: numbers by value, dates and times by time, text by its bytes with ASCII
/// letters folded to lower case, so that both back ends agree; collation.h folds all other letters.
std::string as_sort_key(sql::Dialect dialect, const std::string& expression, ColumnType type);

/// Whether order-by compares the column's values as text. Ids, in the column `id`, are no values to count.
inline bool is_ordered_as_text(const Column& column, std::string_view id = "id") {
  return column.type == ColumnType::text && column.name != id;
}

/// A condition on a number expression above 0: the value is a valid Transaction Id. Replicated numbers
/// may be 7.5, which is not gift 8. The lower bound is left to the caller, because an index scan must
/// have only one.
std::string valid_transaction_id_condition(sql::Dialect dialect, const std::string& expression,
                                           std::string_view sql_type);

/// The expression compared by its bytes; orders ids.
std::string bytewise(sql::Dialect dialect, const std::string& expression);

/// A list for IN: an Id of Salesforce in both of its forms, another one twice. As schema/ids.h has them,
/// but for the suffix of a long one, which is not checked.
std::string crm_id_forms_expression(sql::Dialect dialect, const std::string& id);

/// "80000.0" as "80000": PostgreSQL retains trailing zeros, SQLite does not.
std::string trim_trailing_zeros(std::string text);

}  // namespace giftsync::crm::sql_crm
