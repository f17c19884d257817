// schema/store: sign-ins at an identity provider that have begun (CON-3). An attempt is claimed once by the
// provider's reply and taken once by the browser that began it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "platform/time.h"

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

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
  platform::UtcMillis created_at = {};
};

/// Any thread.
class SignInAttempts {
 public:
  explicit SignInAttempts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  void create(const SignInAttempt& attempt);
  /// The attempt of this connection if it was created after `created_after` and not claimed before. Of
  /// several calls one succeeds.
  std::optional<SignInAttempt> claim(const std::string& id_hash, const std::string& connection,
                                     platform::UtcMillis created_after, platform::UtcMillis now);
  /// Stores what was validated. False, without a change, when the attempt is not claimed or has an outcome.
  bool finish(const std::string& id_hash, const std::string& outcome, platform::UtcMillis now);
  /// Deletes and returns the attempt if it has an outcome, was finished after `finished_after` and belongs to
  /// this browser. Of several calls one succeeds.
  std::optional<SignInAttempt> take(const std::string& id_hash, const std::string& browser_hash,
                                    platform::UtcMillis finished_after);
  /// Deletes attempts older than `before`.
  void prune(platform::UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
