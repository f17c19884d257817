// schema/store: the console's users with their roles (CON-5, CON-6). Each change is one transaction with
// its event in the audit log.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/statements/audit_log.h"

namespace giftsync::store {

struct UserRole {
  Role role = Role::sender;
  RoleOrigin origin = RoleOrigin::granted;
  std::string granted_by = {};  ///< the operating system's user, a user's address, or the permission set
  UtcMillis granted_at = {};
};

struct ConsoleUser {
  UserId id = {};  ///< allocated by the store
  std::string email = {};
  std::string name = {};
  bool active = true;
  std::optional<OrganizationId> organization = {};  ///< absent: sees all of them
  UtcMillis created_at = {};
  std::vector<UserRole> roles = {};

  RoleSet role_set() const;
};

/// A page of the list of users, by descending id.
struct UserFilter {
  std::string find = {};              ///< a part of the address, case ignored; empty: all
  std::optional<UserId> before = {};  ///< only lower ids
  std::size_t limit = 0;              ///< rows at most
};

/// The event of replace_roles() by the CRM, by which no person changes anything.
AuditEvent crm_roles_event(const ConsoleUser& user, UtcMillis now);

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
  /// Revokes a granted role only: false, without a change, when there is none.
  bool revoke(UserId user, Role role, const AuditEvent& audit);
  /// Ends the user's sessions and links, too, if the user becomes inactive.
  void set_active(UserId user, bool active, const AuditEvent& audit);
  /// The roles that `origin`, the CRM or groups, gives the user now; returns whether they differ from before.
  /// `audit` is inserted only then, with the roles as its detail.
  bool replace_roles(UserId user, RoleOrigin origin, const std::vector<UserRole>& roles,
                     const AuditEvent& audit);

 private:
  std::shared_ptr<sql::Database> database_;
};

// Who a user is at an identity provider (CON-4), and what is known of the connections to them:
// the pinned tenant, the last success and error, and the SAML assertions that were accepted.

struct UserIdentity {
  IdentityId id = {};  ///< allocated by the store
  UserId user = {};
  std::string connection = {};
  std::string tenant = {};  ///< empty except for a directory
  std::string subject = {};
  std::string last_email = {};  ///< for display alone
  UtcMillis linked_at = {};
  UtcMillis last_sign_in_at = {};
};

/// Any thread.
class UserIdentities {
 public:
  explicit UserIdentities(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Nullopt, without a change, when the subject belongs to a user already, or the user has another identity
  /// of this connection.
  std::optional<IdentityId> link(const UserIdentity& identity, const AuditEvent& audit);
  std::optional<UserIdentity> find(const std::string& connection, const std::string& tenant,
                                   const std::string& subject);
  /// Whether the user has an identity of this connection.
  bool is_linked(UserId user, const std::string& connection);
  void set_last_sign_in(IdentityId id, const std::string& email, UtcMillis now);
  /// Ends the sessions of the identity, too, and the user's roles from groups (SIGN-16). False, without a
  /// change, when the user has none.
  bool unlink(UserId user, const std::string& connection, const AuditEvent& audit);

 private:
  std::shared_ptr<sql::Database> database_;
};

struct SignInConnectionState {
  std::string name = {};
  std::string tenant = {};  ///< empty: none yet
  std::optional<UtcMillis> last_success_at = {};
  std::string last_error = {};  ///< the rule and a sentence
  std::optional<UtcMillis> last_error_at = {};
};

/// Any thread.
class SignInConnections {
 public:
  explicit SignInConnections(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  std::vector<SignInConnectionState> list();
  /// The tenant that was pinned first; it is `tenant` if none was.
  std::string pin_tenant(const std::string& name, const std::string& tenant);
  void record_success(const std::string& name, UtcMillis now);
  void record_error(const std::string& name, const std::string& error, UtcMillis now);

  /// False when the assertion was accepted before. `expires_at`: after it the assertion is too old anyway.
  bool accept_assertion(const std::string& connection, const std::string& assertion_id, UtcMillis expires_at);
  /// Deletes assertions that expired before `now`.
  void prune(UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
