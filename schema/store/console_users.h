// schema/store: the console's users with their roles (CON-5, CON-6). Each change is one transaction with
// its event in the audit log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/console_role.h"
#include "schema/ids.h"
#include "schema/store/audit_log.h"

namespace giftsync::schema::store {

struct UserRole {
  Role role = Role::sender;
  RoleOrigin origin = RoleOrigin::granted;
  std::string granted_by = {};  ///< the operating system's user, a user's address, or the permission set
  platform::UtcMillis granted_at = {};
};

struct ConsoleUser {
  UserId id = {};  ///< allocated by the store
  std::string email = {};
  std::string name = {};
  bool active = true;
  std::optional<OrganizationId> organization = {};  ///< absent: sees all of them
  platform::UtcMillis created_at = {};
  std::vector<UserRole> roles = {};

  RoleSet role_set() const;
};

/// A page of the list of users, by descending id.
struct UserFilter {
  std::string find = {};              ///< a part of the address, case ignored; empty: all
  std::optional<UserId> before = {};  ///< only lower ids
  std::size_t limit = 0;              ///< rows at most
};

/// The event of replace_crm_roles(), by which no person changes anything.
AuditEvent crm_roles_event(const ConsoleUser& user, platform::UtcMillis now);

/// Any thread.
class ConsoleUsers {
 public:
  explicit ConsoleUsers(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// With its roles. Nullopt, without a change, when a user with that address (case ignored) exists.
  std::optional<UserId> create(const ConsoleUser& user, const AuditEvent& audit);
  /// In the order of their ids, also inactive ones.
  std::vector<ConsoleUser> list(const Viewer& viewer);
  std::vector<ConsoleUser> list(const Viewer& viewer, const UserFilter& filter);
  /// Nullopt also for a user that the viewer may not see.
  std::optional<ConsoleUser> find(const Viewer& viewer, UserId id);
  std::optional<ConsoleUser> find(UserId id);
  std::optional<ConsoleUser> find_by_email(const std::string& email);
  /// False, without a change, when the user has the role from this origin already.
  bool grant(UserId user, const UserRole& role, const AuditEvent& audit);
  /// Of a grant only: false, without a change, when there is none.
  bool revoke(UserId user, Role role, const AuditEvent& audit);
  /// Ends the user's sessions and links, too, if the user becomes inactive.
  void set_active(UserId user, bool active, const AuditEvent& audit);
  /// The roles that the CRM gives the user now; returns whether they differ from before. `audit` is
  /// inserted only then, with the roles as its detail.
  bool replace_crm_roles(UserId user, const std::vector<UserRole>& roles, const AuditEvent& audit);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
