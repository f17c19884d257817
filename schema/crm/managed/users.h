// schema/crm/managed: users by Id, and the permission sets that are assigned to them (REQ-36). Included by
// schema/'s .cpp files only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/crm.h"
#include "schema/crm/sql_common/columns.h"

namespace giftsync::schema::crm::managed {

/// See Crm::find_users_by_id and Crm::permission_sets.
std::vector<std::optional<CrmUser>> read_users(sql::Database& database, std::span<const std::string> ids);
std::vector<std::vector<PermissionSetAssignment>> read_permission_sets(sql::Database& database,
                                                                       std::span<const std::string> users);

}  // namespace giftsync::schema::crm::managed
