// schema/crm/external: SQL fragments for statements over external gift records. Included by this folder's
// .cpp files only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/crm/external/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::external {

inline constexpr const char* kGiftObject = "gift_record";
inline constexpr const char* kTransaction = "RecipientTransactionId";

std::string as_integer(sql::Dialect dialect, const std::string& expression);

/// The wanted transactions that have a row of the object.
std::set<std::int64_t> existing_transactions(soci::session& session, const MappedTables& tables,
                                             const std::string& object,
                                             const std::vector<std::int64_t>& wanted);

/// "cast(t.column as bigint)": replicated numbers are often double precision.
std::string transaction_of(const MappedTables& tables, const std::string& alias, const std::string& object);

std::string quoted_column(const MappedTables& tables, GiftField field);
/// Cell `index` of the input rows as a value of the field's column.
std::string cast_cell(const MappedTables& tables, std::size_t index, GiftField field);
/// A condition on the row of the cells' transaction; it uses the column unmodified, so that its index
/// applies.
std::string same_transaction_condition(const MappedTables& tables);
/// " RETURNING" the record's transaction.
std::string returning_clause(const MappedTables& tables, const std::string& alias);

}  // namespace giftsync::schema::crm::external
