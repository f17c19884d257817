// schema/store: what authenticates a caller: the API keys of accounts (HTTP-25), the tokens of organizations
// (REQ-39), and the tokens that are the secret part of the URL to which a CRM sends messages (MSG-1 to
// MSG-4). Each kind has its table; only hashes are stored and passed. Of message tokens one is current; while
// it replaces another one, both work.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/ids.h"
#include "schema/store/account/accounts.h"

namespace soci {
class session;
}

namespace giftsync::store {

struct Credential {
  CredentialKind kind = CredentialKind::api_key;
  CredentialId id = {};              ///< allocated by the store; unique among its kind
  AccountId account = {};            ///< of an API key
  OrganizationId organization = {};  ///< of an organization token
  std::string owner = {};            ///< read only: the account's address, the organization's name
  std::string name = {};             ///< what the admin calls an API key; may be empty
  std::string prefix = {};           ///< the first characters, which listings show
  std::string hash = {};             ///< hex SHA-256 of the text
  std::set<Scope> scopes = {};       ///< of an API key
  UtcMillis created_at = {};
  std::optional<UtcMillis> expires_at = {};    ///< it was replaced and works until then
  std::optional<UtcMillis> revoked_at = {};    ///< never of a message token: it is deleted
  std::optional<UtcMillis> last_used_at = {};  ///< of a message token: when a message was last stored
};

struct ApiKeyOwner {
  Credential key;
  Account account;
};

/// Any thread.
class Credentials {
 public:
  explicit Credentials(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  CredentialId insert(const Credential& credential);
  /// The oldest first.
  std::vector<Credential> list(CredentialKind kind);
  /// The credential with that hash, also a revoked or expired one: the caller checks its state (HTTP-25).
  std::optional<Credential> find_by_hash(CredentialKind kind, const std::string& hash);
  /// The same of an API key, with its account.
  std::optional<ApiKeyOwner> find_key_by_hash(const std::string& hash);
  void set_expiry(const Credential& credential, UtcMillis expires_at);
  /// The first revocation counts.
  void revoke(const Credential& credential, UtcMillis now);
  void update_last_used(const std::vector<std::pair<CredentialId, UtcMillis>>& key_uses);

  /// False, without a change, when there is a current message token.
  bool create_message_token(Credential token);
  /// Makes `token` the current one. The former one works until `former_ends_at`, or is deleted without a
  /// time; those that were replaced before are deleted. False, without a change, when there is no current
  /// token.
  bool rotate_message_token(Credential token, std::optional<UtcMillis> former_ends_at);
  void remove_message_token(CredentialId id);

 private:
  std::shared_ptr<sql::Database> database_;
};

/// Inserts it inside the caller's transaction.
CredentialId insert_credential(soci::session& session, Credential credential);

}  // namespace giftsync::store
