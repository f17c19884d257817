// schema/crm/external: SQL fragments for statements over external gift records. Included by this folder's
// .cpp files only.
#pragma once

#include <string>

#include "schema/crm/external/mapping.h"
#include "schema/crm/sql_common/transaction_rows.h"

namespace giftsync::schema::crm::external {

inline constexpr const char* kGiftObject = "gift_record";
inline constexpr const char* kTransaction = "RecipientTransactionId";

/// "cast(expression as bigint)"
std::string as_integer(sql::Dialect dialect, const std::string& expression);

/// "cast(t.column as bigint)": replicated numbers are often double precision.
std::string transaction_of(const MappedTables& tables, const std::string& alias, const std::string& object);

/// The table of gift records or tasks. It uses the column unmodified, so that its index applies.
sql_common::TransactionTable transaction_table(const MappedTables& tables, const std::string& object);

std::string quoted_column(const MappedTables& tables, GiftField field);
/// A cell of the input rows, such as "c1", as a value of the field's column.
std::string cast_cell(const MappedTables& tables, const std::string& cell, GiftField field);

}  // namespace giftsync::schema::crm::external
