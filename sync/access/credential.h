// sync: API keys: gsk_live_<32 random base62 digits><6 base62 digits of checksum> (HTTP-29), organization
// tokens: got_live_ and the same digits (REQ-39), and message tokens: gmt_live_ and 50 random digits, of
// which 43, 256 bits, stay secret (MSG-1). The text is shown once. The store keeps its hash; a plain hash is
// enough because a key has 190 random bits. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "platform/digest.h"
#include "schema/store/account/credentials.h"
#include "sync/access/send_authorization.h"

namespace giftsync::sync {

struct NewCredential : store::Credential {
  std::string text;  ///< 47 characters, of message tokens 65; shown once, never stored
};

/// Its prefix and hash are set. `is_test`: an API key that makes test gifts alone, gsk_test_... (TEST-1).
/// Throws DependencyError when the system provides no random bytes.
NewCredential make_credential(CredentialKind kind, UtcMillis created_at = {}, bool is_test = false);

/// Whether the text has the form of that kind and its checksum fits. Other texts are refused without a query;
/// a scanner for leaked secrets can also recognise keys by it.
bool is_credential(CredentialKind kind, std::string_view text);

/// Whether a person means this credential by `word`: its text, or the first characters that listings show,
/// with or without "gsk_live_". False for an empty word.
bool is_meant_by(const store::Credential& credential, std::string_view word);

/// The first characters of a key or token. They are not secret: listings and the log identify it by them.
std::string public_prefix(std::string_view key_or_token);
/// Of which kind the key or token with that public prefix is.
CredentialKind kind_of_prefix(std::string_view prefix);
/// As which kind the text begins, whether or not it is whole; nothing for another text.
std::optional<CredentialKind> kind_by_beginning(std::string_view text);
/// "an API key (gsk_live_...)"
std::string describe(CredentialKind kind);

/// Lower-case hex SHA-256 of the text.
std::string api_key_hash(std::string_view text);

// Whether an API key (HTTP-25, HTTP-26, HTTP-28), an organization token (REQ-39) or a message token
// (MSG-2) is usable. The authenticator, the CRM's endpoints and the command line share these functions. Pure.

/// `expiring`: rotated, and usable until it expires. `paused`: usable for all but sending, until it is
/// released or expires (HTTP-51).
enum class CredentialState { active, expiring, expired, revoked, paused };

/// "active", "expiring", "expired", "revoked" or "paused".
std::string_view to_word(CredentialState state);

CredentialState state_of(const store::Credential& credential, UtcMillis now);

constexpr bool is_usable(CredentialState state) {
  return state != CredentialState::expired && state != CredentialState::revoked;
}

/// What an API key allows, in the order of the checks. `refused`: not usable, or its account is deactivated.
enum class ApiKeyAccess { allowed, refused, plan_without_api_access, missing_scope };

/// Without `needed` no scope is checked.
ApiKeyAccess access_of(const store::ApiKeyOwner& caller, std::optional<Scope> needed, UtcMillis now);

// Looks up an organization token that came from the settings or from a request of the CRM's sending
// interface. Any thread. (REQ-36)

/// Throws DependencyError when the store fails.
TokenStatus token_status(store::Credentials& credentials, std::string_view token, UtcMillis now);

}  // namespace giftsync::sync
