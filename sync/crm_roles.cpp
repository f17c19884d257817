#include "sync/crm_roles.h"

#include <algorithm>
#include <set>

#include "schema/contact_normalization.h"
#include "sync/send_authorization.h"

namespace giftsync::sync {
namespace {

using schema::Role;
using schema::store::UserRole;

std::vector<schema::store::ConsoleUser> users_with_session(schema::store::Store& store,
                                                           platform::UtcMillis now) {
  const schema::store::Viewer everyone = schema::store::Viewer::of_command_line();
  std::set<schema::UserId> ids;
  for (const schema::store::ConsoleSession& session : store.console_sessions.list(everyone, now))
    ids.insert(session.user);
  std::vector<schema::store::ConsoleUser> users = store.console_users.list(everyone);
  std::erase_if(users, [&](const schema::store::ConsoleUser& user) { return !ids.contains(user.id); });
  return users;
}

}  // namespace

std::vector<UserRole> crm_roles(const CrmRoleRules& rules,
                                std::span<const schema::crm::PermissionSetAssignment> assignments,
                                platform::UtcMillis now) {
  std::vector<UserRole> roles;
  const auto add = [&](Role role, const std::vector<std::string>& sets) {
    for (const schema::crm::PermissionSetAssignment& one : assignments) {
      const bool gives_role = std::any_of(sets.begin(), sets.end(), [&](const std::string& set) {
        return is_same_permission_set(set, one.permission_set);
      });
      if (!gives_role || !is_in_force(one, now)) continue;
      roles.push_back({role, schema::RoleOrigin::crm, one.permission_set, now});
      return;
    }
  };
  add(Role::sender, rules.sender);
  add(Role::approver, rules.approver);
  add(Role::admin, rules.admin);
  return roles;
}

std::optional<std::vector<std::vector<UserRole>>> read_crm_roles(schema::crm::Directory& directory,
                                                                 const CrmRoleRules& rules,
                                                                 std::span<const std::string> addresses,
                                                                 platform::UtcMillis now) {
  std::vector<std::string> keys;
  for (const std::string& address : addresses) keys.push_back(schema::email_key(address));
  const auto found = directory.permission_sets_by_email(keys);
  if (!found) return std::nullopt;
  std::vector<std::vector<UserRole>> roles;
  for (const auto& assignments : *found) roles.push_back(crm_roles(rules, assignments, now));
  return roles;
}

std::size_t crm_role_step(schema::store::Store& store, schema::crm::Directory& directory,
                          const CrmRoleRules& rules, platform::UtcMillis now) {
  const std::vector<schema::store::ConsoleUser> users = users_with_session(store, now);
  if (users.empty()) return 0;
  std::vector<std::string> addresses;
  for (const schema::store::ConsoleUser& user : users) addresses.push_back(user.email);
  const auto roles = read_crm_roles(directory, rules, addresses, now);
  if (!roles) return 0;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < users.size(); ++i) {
    const schema::store::AuditEvent event = schema::store::crm_roles_event(users[i], now);
    if (store.console_users.replace_crm_roles(users[i].id, roles->at(i), event)) ++changed;
  }
  return changed;
}

}  // namespace giftsync::sync
