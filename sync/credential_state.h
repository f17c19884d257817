// sync: whether an API key (HTTP-25, HTTP-26, HTTP-28), an organization token (REQ-39) or a message token
// (MSG-2) is usable. The authenticator, the CRM's endpoints and the command line share these functions. Pure.
#pragma once

#include <optional>
#include <string_view>

#include "schema/store/accounts.h"
#include "schema/store/message_tokens.h"
#include "schema/store/organizations.h"

namespace giftsync::sync {

/// `expiring`: rotated, and usable until it expires.
enum class CredentialState { active, expiring, expired, revoked };

/// "active", "expiring", "expired" or "revoked".
std::string_view to_word(CredentialState state);

CredentialState state_of(const schema::store::ApiKey& key, platform::UtcMillis now);
CredentialState state_of(const schema::store::OrganizationToken& token, platform::UtcMillis now);
/// Never revoked: a message token is deleted.
CredentialState state_of(const schema::store::MessageToken& token, platform::UtcMillis now);

constexpr bool is_usable(CredentialState state) {
  return state == CredentialState::active || state == CredentialState::expiring;
}

/// What an API key allows, in the order of the checks. `refused`: not usable, or its account is deactivated.
enum class ApiKeyAccess { allowed, refused, plan_without_api_access, missing_scope };

/// Without `needed` no scope is checked.
ApiKeyAccess access_of(const schema::store::ApiKeyOwner& caller, std::optional<schema::Scope> needed,
                       platform::UtcMillis now);

}  // namespace giftsync::sync
