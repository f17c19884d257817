#include "sync/crm/crm_roles.h"

#include <algorithm>
#include <set>

#include "schema/contact_normalization.h"
#include "sync/access/send_authorization.h"

namespace giftsync::sync {
namespace {
using store::UserRole;

std::vector<store::ConsoleUser> users_with_session(store::ConsoleUsers& console_users,
                                                   store::ConsoleSessions& console_sessions, UtcMillis now) {
  const store::Viewer everyone = store::Viewer::of_command_line();
  std::set<UserId> ids;
  for (const store::ConsoleSession& session : console_sessions.list(everyone, now)) ids.insert(session.user);
  std::vector<store::ConsoleUser> users = console_users.list(everyone);
  std::erase_if(users, [&](const store::ConsoleUser& user) { return !ids.contains(user.id); });
  return users;
}

}  // namespace

std::vector<UserRole> crm_roles(const CrmRoleRules& rules,
                                std::span<const crm::PermissionSetAssignment> assignments, UtcMillis now) {
  std::vector<UserRole> roles;
  const auto add = [&](Role role, const std::vector<std::string>& sets) {
    for (const crm::PermissionSetAssignment& assignment : assignments) {
      const bool gives_role = std::any_of(sets.begin(), sets.end(), [&](const std::string& set) {
        return is_same_permission_set(set, assignment.permission_set);
      });
      if (!gives_role || !is_in_force(assignment, now)) continue;
      roles.push_back({role, RoleOrigin::crm, assignment.permission_set, now});
      return;
    }
  };
  add(Role::sender, rules.sender);
  add(Role::approver, rules.approver);
  add(Role::admin, rules.admin);
  return roles;
}

std::optional<std::vector<std::vector<UserRole>>> read_crm_roles(crm::Directory& directory,
                                                                 const CrmRoleRules& rules,
                                                                 std::span<const std::string> addresses,
                                                                 UtcMillis now) {
  std::vector<std::string> keys;
  for (const std::string& address : addresses) keys.push_back(email_key(address));
  const auto found = directory.permission_sets_by_email(keys);
  if (!found) return std::nullopt;
  std::vector<std::vector<UserRole>> roles;
  for (const auto& assignments : *found) roles.push_back(crm_roles(rules, assignments, now));
  return roles;
}

std::size_t crm_role_step(store::ConsoleUsers& console_users, store::ConsoleSessions& console_sessions,
                          crm::Directory& directory, const CrmRoleRules& rules, UtcMillis now) {
  const std::vector<store::ConsoleUser> users = users_with_session(console_users, console_sessions, now);
  if (users.empty()) return 0;
  std::vector<std::string> addresses;
  for (const store::ConsoleUser& user : users) addresses.push_back(user.email);
  const auto roles = read_crm_roles(directory, rules, addresses, now);
  if (!roles) return 0;
  std::size_t changed = 0;
  for (std::size_t i = 0; i < users.size(); ++i) {
    const store::AuditEvent event = store::crm_roles_event(users[i], now);
    if (console_users.replace_roles(users[i].id, RoleOrigin::crm, roles->at(i), event)) ++changed;
  }
  return changed;
}

}  // namespace giftsync::sync
