// crm/sql/external: checks the database user's rights on external tables. PostgreSQL is asked for
// exactly the rights that giftsync uses; inherited roles, owners and superusers count as they do when a
// statement runs. SQLite has only file permissions. Included by schema/'s .cpp files only.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "crm/sql/external/mapping.h"

namespace giftsync::crm::external {

struct PrivilegeReport {
  std::vector<std::string> faults;            ///< missing rights, with the GRANT that adds them
  std::vector<std::string> command_warnings;  ///< the same for rights that only some commands need
  std::set<std::string>
      inaccessible;  ///< objects in a schema that the user may not use: their tables are not visible
};
/// Missing tables and columns are left out: the mapping check reports them.
PrivilegeReport check_privileges(soci::session& session, const Mapping& mapping,
                                 const ExternalCrmOptions& options);

}  // namespace giftsync::crm::external
