// sync: API keys: gsk_live_<32 random base62 digits><6 base62 digits of checksum> (HTTP-29), organization
// tokens: got_live_ and the same digits (REQ-39), and message tokens: gmt_live_ and 50 random digits, of
// which 43, 256 bits, stay secret (MSG-1). The text is shown once. The store keeps its hash; a plain hash is
// enough because a key has 190 random bits. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/digest.h"
#include "schema/store/account/accounts.h"
#include "schema/store/account/message_tokens.h"
#include "schema/store/account/organizations.h"
#include "sync/access/send_authorization.h"

namespace giftsync::sync {

struct NewCredential {
  std::string text;    ///< 47 characters, of message tokens 65; shown once, never stored
  std::string prefix;  ///< the first 16 characters; listings identify the key by them
  std::string hash;    ///< api_key_hash(text)
};

/// These throw DependencyError when the system provides no random bytes.
NewCredential make_api_key();
NewCredential make_organization_token();
NewCredential make_message_token();

/// Whether the text has the form of a key and its checksum fits. Other texts are refused without a query; a
/// scanner for leaked secrets can also recognise keys by it.
bool is_api_key(std::string_view text);
bool is_organization_token(std::string_view text);
bool is_message_token(std::string_view text);

/// The first characters of a key or token. They are not secret: listings and the log identify it by them.
std::string public_prefix(std::string_view key_or_token);

/// Lower-case hex SHA-256 of the text.
std::string api_key_hash(std::string_view text);

// Whether an API key (HTTP-25, HTTP-26, HTTP-28), an organization token (REQ-39) or a message token
// (MSG-2) is usable. The authenticator, the CRM's endpoints and the command line share these functions. Pure.

/// `expiring`: rotated, and usable until it expires.
enum class CredentialState { active, expiring, expired, revoked };

/// "active", "expiring", "expired" or "revoked".
std::string_view to_word(CredentialState state);

CredentialState state_of(const store::ApiKey& key, UtcMillis now);
CredentialState state_of(const store::OrganizationToken& token, UtcMillis now);
/// Never revoked: a message token is deleted.
CredentialState state_of(const store::MessageToken& token, UtcMillis now);

constexpr bool is_usable(CredentialState state) {
  return state == CredentialState::active || state == CredentialState::expiring;
}

/// What an API key allows, in the order of the checks. `refused`: not usable, or its account is deactivated.
enum class ApiKeyAccess { allowed, refused, plan_without_api_access, missing_scope };

/// Without `needed` no scope is checked.
ApiKeyAccess access_of(const store::ApiKeyOwner& caller, std::optional<Scope> needed, UtcMillis now);

// Looks up an organization token that came from the settings or from a request of the CRM's sending
// interface. Any thread. (REQ-36)

/// Throws DependencyError when the store fails.
TokenStatus token_status(store::Organizations& organizations, std::string_view token, UtcMillis now);

}  // namespace giftsync::sync
