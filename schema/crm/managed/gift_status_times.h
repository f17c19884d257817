// schema/crm/managed: reads the status timestamps of gift records without the other columns, and fills
// missing ones. Included by schema/'s .cpp files only.
#pragma once

#include <span>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::managed {

/// Of the existing records, in any order.
std::vector<GiftStatusTimes> read_status_times(sql::Database& database,
                                               std::span<const TransactionId> transactions);

/// In one transaction; see Crm::fill_status_times.
std::vector<TransactionId> fill_times(sql::Database& database, std::span<const GiftStatusTimes> times);

}  // namespace giftsync::schema::crm::managed
