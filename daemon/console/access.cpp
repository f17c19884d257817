#include "daemon/console/access.h"

#include <algorithm>
#include <initializer_list>

namespace giftsync::daemon::console {
namespace {

using schema::Role;

/// Users with any of the roles have the permission.
struct PermittedRoles {
  Permission permission;
  std::initializer_list<Role> roles;
};
constexpr PermittedRoles kPermitted[] = {
    {Permission::see_own, {Role::sender, Role::approver, Role::admin, Role::operations, Role::auditor}},
    {Permission::see_users, {Role::admin, Role::operations, Role::auditor}},
    {Permission::manage_users, {Role::operations}},
    {Permission::act_on_gifts, {Role::sender, Role::admin, Role::operations}},
    {Permission::see_crm, {Role::admin, Role::operations, Role::auditor}},
    {Permission::act_on_crm, {Role::admin, Role::operations}},
    {Permission::decide_requests, {Role::approver}},
    {Permission::see_operations, {Role::admin, Role::operations, Role::auditor}},
    {Permission::operate, {Role::operations}},
    {Permission::see_settings, {Role::operations, Role::auditor}},
};

}  // namespace

bool may(const schema::RoleSet& roles, Permission permission) {
  if (permission == Permission::open || permission == Permission::signed_in) return true;
  for (const PermittedRoles& one : kPermitted)
    if (one.permission == permission)
      return std::any_of(one.roles.begin(), one.roles.end(), [&](Role role) { return roles.contains(role); });
  return false;
}

}  // namespace giftsync::daemon::console
