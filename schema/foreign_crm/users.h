// schema/foreign_crm: users by e-mail address and by Id, and the permission sets that they were given
// (Spec 5.6), where the settings map them. Included by schema/'s .cpp files only.
#pragma once

#include <map>
#include <string>

#include "schema/foreign_crm/people.h"

namespace giftsync::schema::foreign_crm {

/// Active ones first, those without an Id not at all.
FoundByKey<CrmUser> users_by_email(sql::Database& database, const Tables& tables, const Keys& keys);
std::map<std::string, CrmUser> users_by_id(sql::Database& database, const Tables& tables, const Keys& ids);
FoundByKey<PermissionSetAssignment> permission_sets_of(sql::Database& database, const Tables& tables,
                                                       const Keys& users);

}  // namespace giftsync::schema::foreign_crm
