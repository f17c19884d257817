// schema/crm/managed: gift records in crm_gift_record: upserted by Transaction Id, newer versions over
// older ones only, and read. Included by schema/'s .cpp files only.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

/// Writes all rows in one transaction with a few statements, without lookups whose targets do not exist;
/// when a row violates a constraint, bisects the rows until the bad row is isolated. `name_space` is for
/// the API names in reasons.
std::vector<RowResult> upsert_gift_rows(sql::Database& database, std::span<const GiftUpsert> rows,
                                        const std::string& name_space);

std::vector<GiftRecord> read_gift_rows(sql::Database& database, TransactionId after, std::size_t limit);

/// The existing ones, in any order.
std::vector<GiftRecord> find_gift_rows(sql::Database& database, std::span<const TransactionId> transactions);

/// Descending.
std::vector<TransactionId> gift_transactions_below(sql::Database& database, TransactionId below,
                                                   std::size_t limit);
std::vector<TransactionId> gift_transactions_by_email(sql::Database& database, const std::string& address);

std::int64_t count_gift_rows(sql::Database& database);

}  // namespace giftsync::schema::crm::managed
