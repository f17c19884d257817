// schema/foreign_crm: what the statements over somebody else's gift records are made of. Included by this
// folder's .cpp files only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/foreign_crm/mapping.h"
#include "schema/sql/database.h"

namespace giftsync::schema::foreign_crm {

inline constexpr const char* kGift = "gift_record";
inline constexpr const char* kTransaction = "RecipientTransactionId";

/// One writer of gift records or tasks at a time, to the transaction's end.
void lock_records(soci::session& session, Dialect dialect);

/// Those of the wanted transactions that the object has a row of.
std::set<std::int64_t> present(soci::session& session, Dialect dialect, const Tables& tables,
                               const std::string& object, const std::vector<std::int64_t>& wanted);

/// "cast(t.column as bigint)": replicated numbers are often double precision.
std::string transaction_of(Dialect dialect, const Tables& tables, const std::string& alias,
                           const std::string& object);

std::string quoted_column(const Tables& tables, GiftField field);
/// Cell `index` of the given rows as a value of the field's column.
std::string cast_cell(const Tables& tables, std::size_t index, GiftField field);
/// Where the row of the cells' transaction is; by the column as it is, so that its index serves.
std::string same_transaction(const Tables& tables);
/// " RETURNING" the record's transaction.
std::string returning(Dialect dialect, const Tables& tables, const std::string& alias);

}  // namespace giftsync::schema::foreign_crm
