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
#include "schema/store/statements/audit_log.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

struct ConsoleSession {
  std::string id_hash = {};  ///< hex SHA-256 of the cookie's value
  UserId user = {};
  std::string email = {};                   ///< the user's; set when read
  std::optional<IdentityId> identity = {};  ///< absent: begun by a link
  std::string connection = {};              ///< of the identity; set when read
  std::string form_secret = {};             ///< the key of its form tokens
  UtcMillis created_at = {};
  UtcMillis last_seen_at = {};
  UtcMillis authenticated_at = {};  ///< when the user last proved who they are; 0: unknown
  UtcMillis expires_at = {};        ///< the end, however busy the session is
  std::string agent = {};           ///< of the browser, for display
  std::string network = {};         ///< of the sign-in, for display
  bool is_by_mail = false;          ///< begun by a link that the user asked for by mail (SIGN-15)

  /// Begun by a link of the command line.
  bool is_break_glass() const { return !identity.has_value() && !is_by_mail; }
};

/// The part of a session's hash that listings and the audit log show. It opens nothing.
std::string public_session_id(const std::string& id_hash);

struct SignInLink {
  std::string token_hash = {};  ///< hex SHA-256 of the link's token
  UserId user = {};
  std::string created_by = {};  ///< the operating system's user; of a mailed link the client that asked
  UtcMillis created_at = {};
  UtcMillis expires_at = {};
  bool is_by_mail = false;
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
  std::optional<ConsoleSession> find(const std::string& id_hash, UtcMillis now, UtcMillis seen_after);
  void set_last_seen(const std::string& id_hash, UtcMillis now);
  /// False, without a change, when there is no such session.
  bool end(const std::string& id_hash, const AuditEvent& audit);
  /// Ends the sessions of one user; returns how many. No event without a session.
  std::int64_t end_all(UserId user, const AuditEvent& audit);
  /// Those that end after `now`, also of idle ones; the latest first.
  std::vector<ConsoleSession> list(const Viewer& viewer, UtcMillis now);
  std::vector<ConsoleSession> list(std::span<const UserId> users, UtcMillis now);

  void create_link(const SignInLink& link, const AuditEvent& audit);
  /// The link if it ends after `now`. It stays.
  std::optional<SignInLink> find_link(const std::string& token_hash, UtcMillis now);
  /// Uses the link up and inserts the session, whose user becomes that of the link. Of several calls one
  /// succeeds, and ends `former` as create_instead_of() does; the others, and those after the end, change
  /// nothing. `audit` gets the link's user.
  std::optional<UserId> create_by_link(const std::string& token_hash, const std::string& former_id_hash,
                                       ConsoleSession session, AuditEvent audit, UtcMillis now);
  /// Deletes sessions and links that ended before `now`.
  void prune(UtcMillis now);

 private:
  std::shared_ptr<sql::Database> database_;
};

// sign-ins at an identity provider that have begun (CON-3). An attempt is claimed once by the
// provider's reply and taken once by the browser that began it.

struct SignInAttempt {
  std::string id_hash = {};  ///< hex SHA-256 of OpenID's state or SAML's RelayState
  std::string connection = {};
  std::string browser_hash = {};  ///< hex SHA-256 of the value in the browser's cookie
  std::string nonce = {};
  std::string pkce_verifier = {};
  std::string saml_request_id = {};
  std::string return_path = {};
  bool must_reauthenticate = false;  ///< the reply must have a new proof of the user
  std::string outcome = {};          ///< the flow's own text; empty until the provider's reply was validated
  UtcMillis created_at = {};
};

/// Any thread.
class SignInAttempts {
 public:
  explicit SignInAttempts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  void create(const SignInAttempt& attempt);
  /// The attempt of this connection if it was created after `created_after` and not claimed before. Of
  /// several calls one succeeds.
  std::optional<SignInAttempt> claim(const std::string& id_hash, const std::string& connection,
                                     UtcMillis created_after, UtcMillis now);
  /// Stores what was validated. False, without a change, when the attempt is not claimed or has an outcome.
  bool finish(const std::string& id_hash, const std::string& outcome, UtcMillis now);
  /// Deletes and returns the attempt if it has an outcome, was finished after `finished_after` and belongs to
  /// this browser. Of several calls one succeeds.
  std::optional<SignInAttempt> take(const std::string& id_hash, const std::string& browser_hash,
                                    UtcMillis finished_after);
  /// Deletes attempts older than `before`.
  void prune(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
