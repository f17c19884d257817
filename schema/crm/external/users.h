// schema/crm/external: users by e-mail address and by Id, and the permission sets that are assigned to
// them (REQ-36), where the settings map them. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <string>

#include "schema/crm/external/person_lookup.h"

namespace giftsync::schema::crm::external {

/// Active ones first; without those that have no Id.
sql_common::RowsByKey<CrmUser> users_by_email(sql::Database& database, const MappedTables& tables,
                                              const Keys& keys);
std::map<std::string, CrmUser> find_users_by_id(sql::Database& database, const MappedTables& tables,
                                                const Keys& ids);
sql_common::RowsByKey<PermissionSetAssignment> permission_sets_of(sql::Database& database,
                                                                  const MappedTables& tables,
                                                                  const Keys& users);

}  // namespace giftsync::schema::crm::external
