// schema/sql_crm: gift records in crm_gift_record: written by Transaction Id, newer versions over older ones
// only, and read back. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

/// Writes all rows in one transaction with a few statements, without lookups that lead nowhere; when one of
/// them breaks a constraint, each half of them, until the bad row is alone. `name_space` is for the API names
/// in reasons.
std::vector<RowResult> upsert_gift_rows(sql::Database& database, std::span<const GiftUpsert> rows,
                                        const std::string& name_space);

std::vector<GiftRecord> read_gift_rows(sql::Database& database, TransactionId after, std::size_t limit);

/// Those that exist, in any order.
std::vector<GiftRecord> find_gift_rows(sql::Database& database, std::span<const TransactionId> transactions);

/// The highest first.
std::vector<TransactionId> gift_transactions_below(sql::Database& database, TransactionId below,
                                                   std::size_t limit);
std::vector<TransactionId> gift_transactions_to(sql::Database& database, const std::string& address);

std::int64_t count_gift_rows(sql::Database& database);

}  // namespace giftsync::schema::sql_crm
