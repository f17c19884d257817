#include "daemon/console/access.h"

#include <algorithm>
#include <initializer_list>

namespace giftsync::daemon::console {
namespace {

using schema::Role;

bool has_any(const schema::RoleSet& roles, std::initializer_list<Role> wanted) {
  return std::any_of(wanted.begin(), wanted.end(), [&](Role role) { return roles.contains(role); });
}

}  // namespace

bool may(const schema::RoleSet& roles, Permission permission) {
  switch (permission) {
    case Permission::open:
    case Permission::signed_in:
      return true;
    case Permission::see_own:
      return !roles.empty();
    case Permission::see_users:
      return has_any(roles, {Role::admin, Role::operations, Role::auditor});
    case Permission::manage_users:
      return roles.contains(Role::operations);
    case Permission::decide_requests:
      return roles.contains(Role::approver);
    case Permission::see_operations:
      return has_any(roles, {Role::admin, Role::operations, Role::auditor});
    case Permission::operate:
      return roles.contains(Role::operations);
    case Permission::see_settings:
      return has_any(roles, {Role::operations, Role::auditor});
    case Permission::act_on_gifts:
      return has_any(roles, {Role::sender, Role::admin, Role::operations});
    case Permission::see_crm:
      return has_any(roles, {Role::admin, Role::operations, Role::auditor});
    case Permission::act_on_crm:
      return has_any(roles, {Role::admin, Role::operations});
  }
  return false;
}

}  // namespace giftsync::daemon::console
