// schema: the roles of the console's users, and their spelling in tables and listings (CON-6).
#pragma once

#include <array>
#include <optional>
#include <set>
#include <string_view>

namespace giftsync::schema {

enum class Role { sender, approver, admin, operations, auditor };
inline constexpr std::array<Role, 5> kAllRoles{Role::sender, Role::approver, Role::admin, Role::operations,
                                               Role::auditor};
/// "operator" for Role::operations, which C++ does not allow as a name.
std::string_view to_word(Role role);
std::optional<Role> role_from_word(std::string_view word);

using RoleSet = std::set<Role>;

/// How a user came to a role: by a command, or from permission sets of the CRM.
enum class RoleOrigin { granted, crm };
std::string_view to_word(RoleOrigin origin);
std::optional<RoleOrigin> role_origin_from_word(std::string_view word);

}  // namespace giftsync::schema
