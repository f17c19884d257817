// schema/sql_crm: the old status-log object (Spec 9.2), wherever the settings say that it is: read in the
// order of its gifts, summed up by the database so that a gift with a thousand rows costs no more than one
// with ten. Included by schema/'s .cpp files only.
#pragma once

#include <optional>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"
#include "schema/sql_crm/sql_crm.h"

namespace giftsync::schema::sql_crm {

/// Empty when there is no such table; throws BrokenWorld when a column is missing or unusable.
std::optional<StatusLogSize> size_of_status_log(sql::Database& database, const StatusLogPlace& place);

/// Gives the managed CRM's own old table an index by gift. Other tables are left as they are.
void index_status_log(sql::Database& database, const StatusLogPlace& place);

/// See Crm::status_log.
std::vector<StatusLogSpan> read_status_log(sql::Database& database, const StatusLogPlace& place,
                                           TransactionId after, std::size_t limit, UtcMillis from,
                                           UtcMillis to);

}  // namespace giftsync::schema::sql_crm
