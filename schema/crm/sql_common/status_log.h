// schema/crm/sql_common: reads the old status-log object (SYNC-59) at the configured location, in the
// order of its gifts. The database aggregates the rows, so that a gift with a thousand rows costs no more
// than one with ten. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/crm/sql_common/status_log_location.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

/// Empty when there is no such table; throws DependencyError when a column is missing or unusable.
std::optional<StatusLogSize> size_of_status_log(sql::Database& database, const StatusLogLocation& location);

/// Gives the managed CRM's own old table an index by gift. Other tables stay unchanged.
void index_status_log(sql::Database& database, const StatusLogLocation& location);

/// See Crm::status_log.
std::vector<StatusLogGroup> read_status_log(sql::Database& database, const StatusLogLocation& location,
                                            TransactionId after, std::size_t limit, platform::UtcMillis from,
                                            platform::UtcMillis to);

}  // namespace giftsync::schema::crm::sql_common
