// schema/sql_crm: users by Id, and the permission sets that they were given (Spec 5.6). Included by schema/'s
// .cpp files only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql_crm/columns.h"

namespace giftsync::schema::sql_crm {

/// See Crm::users_by_id and Crm::permission_sets.
std::vector<std::optional<CrmUser>> read_users(sql::Database& database, std::span<const std::string> ids);
std::vector<std::vector<PermissionSetAssignment>> read_permission_sets(sql::Database& database,
                                                                       std::span<const std::string> users);

/// An SQL expression: the end of an assignment as text, '' when it has none.
std::string expiration_text(const std::string& column, const std::string& as_text);
/// Its time. An end that cannot be read was long ago: nobody may send by a typing error.
std::optional<UtcMillis> expiration_of(const std::string& text);

}  // namespace giftsync::schema::sql_crm
