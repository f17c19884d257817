// schema/store: who a user is at an identity provider (CON-4), and what is known of the connections to them:
// the pinned tenant, the last success and error, and the SAML assertions that were accepted.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/audit_log.h"

namespace giftsync::schema::store {

struct UserIdentity {
  IdentityId id = {};  ///< allocated by the store
  UserId user = {};
  std::string connection = {};
  std::string tenant = {};  ///< empty except for a directory
  std::string subject = {};
  std::string last_email = {};  ///< for display alone
  platform::UtcMillis linked_at = {};
  platform::UtcMillis last_sign_in_at = {};
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
  void set_last_sign_in(IdentityId id, const std::string& email, platform::UtcMillis now);
  /// Ends the sessions of the identity, too. False, without a change, when the user has none.
  bool unlink(UserId user, const std::string& connection, const AuditEvent& audit);

 private:
  std::shared_ptr<sql::Database> database_;
};

struct SignInConnectionState {
  std::string name = {};
  std::string tenant = {};  ///< empty: none yet
  std::optional<platform::UtcMillis> last_success_at = {};
  std::string last_error = {};  ///< the rule and a sentence
  std::optional<platform::UtcMillis> last_error_at = {};
};

/// Any thread.
class SignInConnections {
 public:
  explicit SignInConnections(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  std::vector<SignInConnectionState> list();
  /// The tenant that was pinned first; it is `tenant` if none was.
  std::string pin_tenant(const std::string& name, const std::string& tenant);
  void record_success(const std::string& name, platform::UtcMillis now);
  void record_error(const std::string& name, const std::string& error, platform::UtcMillis now);

  /// False when the assertion was accepted before. `expires_at`: after it the assertion is too old anyway.
  bool accept_assertion(const std::string& connection, const std::string& assertion_id,
                        platform::UtcMillis expires_at);
  /// Deletes assertions that expired before `now`.
  void prune(platform::UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
