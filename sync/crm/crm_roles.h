// sync: the roles that the console's users have because of their permission sets in the CRM (SIGN-10). Any
// thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/directory.h"
#include "schema/store/store.h"

namespace giftsync::sync {

/// The permission sets that give a role, by their API names or labels, for each role that has some. None
/// gives the roles operator and auditor.
struct CrmRoleRules {
  std::vector<std::string> sender = {};
  std::vector<std::string> approver = {};
  std::vector<std::string> admin = {};
};

/// One for each role that an assignment in force gives, with the first of its permission sets. Pure.
std::vector<store::UserRole> crm_roles(const CrmRoleRules& rules,
                                       std::span<const crm::PermissionSetAssignment> assignments,
                                       UtcMillis now);

/// For each address. Nullopt when giftsync cannot see the CRM's assignments. Throws
/// DependencyError.
std::optional<std::vector<std::vector<store::UserRole>>> read_crm_roles(
    crm::Directory& directory, const CrmRoleRules& rules, std::span<const std::string> addresses,
    UtcMillis now);

/// Gives every user with a session the roles that the CRM gives now; the others get theirs when they sign in.
/// Asks the CRM once, and not at all without a session. Returns how many users' roles have changed. Throws
/// DependencyError; the roles stay then.
std::size_t crm_role_step(store::ConsoleUsers& console_users, store::ConsoleSessions& console_sessions,
                          crm::Directory& directory, const CrmRoleRules& rules, UtcMillis now);

}  // namespace giftsync::sync
