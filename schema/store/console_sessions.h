// schema/store: the console's sessions and the one-use links that begin one without an identity provider
// (CON-1, CON-2). Only hashes of cookies and link tokens are stored and passed. Each change is one
// transaction with its event in the audit log.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/audit_log.h"

namespace giftsync::schema::store {

struct ConsoleSession {
  std::string id_hash = {};  ///< hex SHA-256 of the cookie's value
  UserId user = {};
  std::string email = {};                   ///< the user's; set when read
  std::optional<IdentityId> identity = {};  ///< absent: begun by a link
  std::string connection = {};              ///< of the identity; set when read
  std::string form_secret = {};             ///< the key of its form tokens
  platform::UtcMillis created_at = {};
  platform::UtcMillis last_seen_at = {};
  platform::UtcMillis authenticated_at = {};  ///< when the user last proved who they are; 0: unknown
  platform::UtcMillis expires_at = {};        ///< the end, however busy the session is
  std::string agent = {};                     ///< of the browser, for display
  std::string network = {};                   ///< of the sign-in, for display

  bool is_break_glass() const { return !identity.has_value(); }
};

/// The part of a session's hash that listings and the audit log show. It opens nothing.
std::string public_session_id(const std::string& id_hash);

struct SignInLink {
  std::string token_hash = {};  ///< hex SHA-256 of the link's token
  UserId user = {};
  std::string created_by = {};  ///< the operating system's user
  platform::UtcMillis created_at = {};
  platform::UtcMillis expires_at = {};
};

/// Any thread.
class ConsoleSessions {
 public:
  explicit ConsoleSessions(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// False, without a change, when the user does not exist or is inactive.
  bool create(const ConsoleSession& session, const AuditEvent& audit) {
    return create_instead_of("", session, audit);
  }
  /// Ends `former`, the session of the browser's cookie, in the same transaction: a sign-in gets a new
  /// cookie. Empty: there is none.
  bool create_instead_of(const std::string& former_id_hash, const ConsoleSession& session,
                         const AuditEvent& audit);
  /// The session if it ends after `now`, was seen after `seen_after` and its user is active.
  std::optional<ConsoleSession> find(const std::string& id_hash, platform::UtcMillis now,
                                     platform::UtcMillis seen_after);
  void set_last_seen(const std::string& id_hash, platform::UtcMillis now);
  /// False, without a change, when there is no such session.
  bool end(const std::string& id_hash, const AuditEvent& audit);
  /// Of one user; returns how many. No event without a session.
  std::int64_t end_all(UserId user, const AuditEvent& audit);
  /// Those that end after `now`, also of idle ones; the latest first.
  std::vector<ConsoleSession> list(const Viewer& viewer, platform::UtcMillis now);
  std::vector<ConsoleSession> list(std::span<const UserId> users, platform::UtcMillis now);

  void create_link(const SignInLink& link, const AuditEvent& audit);
  /// The link if it ends after `now`. It stays.
  std::optional<SignInLink> find_link(const std::string& token_hash, platform::UtcMillis now);
  /// Uses the link up and inserts the session, whose user becomes that of the link. Of several calls one
  /// succeeds, and ends `former` as create_instead_of() does; the others, and those after the end, change
  /// nothing. `audit` gets the link's user.
  std::optional<UserId> create_by_link(const std::string& token_hash, const std::string& former_id_hash,
                                       ConsoleSession session, AuditEvent audit, platform::UtcMillis now);
  /// Deletes sessions and links that ended before `now`.
  void prune(platform::UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
