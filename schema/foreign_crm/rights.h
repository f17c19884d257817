// schema/foreign_crm: what the database's user may do with somebody else's tables. PostgreSQL is asked for
// exactly what giftsync does there: roles that are inherited, owners and superusers count as they do when a
// statement runs. SQLite has no rights but those of its file. Included by schema/'s .cpp files only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/foreign_crm/mapping.h"

namespace giftsync::schema::foreign_crm {

struct RightsReport {
  std::vector<std::string> faults;       ///< what is missing, with the GRANT that mends it
  std::vector<std::string> of_commands;  ///< the same for what only some commands do
  std::set<std::string> closed;  ///< objects in a schema that may not be used: their tables cannot be seen
};
/// Tables and columns that are not there are left out: others tell of them.
RightsReport check_rights(soci::session& session, const Mapping& mapping, const ForeignCrmOptions& options);

}  // namespace giftsync::schema::foreign_crm
