// schema/sql_crm: the status timestamps of gift records, alone: read without the long texts beside them, and
// filled where a record has none. Included by schema/'s .cpp files only.
#pragma once

#include <span>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

/// Of the records that exist, in any order.
std::vector<RecordTimes> read_record_times(sql::Database& database,
                                           std::span<const TransactionId> transactions);

/// In one transaction; see Crm::fill_record_times.
std::vector<TransactionId> fill_times(sql::Database& database, std::span<const RecordTimes> times);

}  // namespace giftsync::schema::sql_crm
