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
#include "schema/store/statements/audit_log.h"

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
  std::optional<UtcMillis> paused_at = {};     ///< it sends nothing until an admin releases it (HTTP-51)
  std::string pause_reason = {};               ///< of a paused one; may be empty
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
  /// The API keys or organization tokens that the viewer sees (CON-66).
  std::vector<Credential> list(const Viewer& viewer, CredentialKind kind);
  /// The credential with that hash, also a revoked or expired one: the caller checks its state (HTTP-25).
  std::optional<Credential> find_by_hash(CredentialKind kind, const std::string& hash);
  /// The same of an API key, with its account.
  std::optional<ApiKeyOwner> find_key_by_hash(const std::string& hash);
  void set_expiry(const Credential& credential, UtcMillis expires_at);
  /// False, without a change, when it is revoked already: the first revocation counts. The event is inserted
  /// with the change, here and below.
  bool revoke(const Credential& credential, UtcMillis now, const std::optional<AuditEvent>& audit = {});
  /// False, without a change, when it is paused already: the first pause counts. Not of a message token.
  bool pause(const Credential& credential, const std::string& reason, UtcMillis now,
             const std::optional<AuditEvent>& audit = {});
  /// False, without a change, when it is not paused, or since another time than `since`.
  bool release(const Credential& credential, const std::optional<AuditEvent>& audit = {},
               std::optional<UtcMillis> since = {});
  /// The paused keys and tokens that are not revoked, keys first.
  std::vector<Credential> list_paused(UtcMillis now);
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
