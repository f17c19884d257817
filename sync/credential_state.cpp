#include "sync/credential_state.h"

#include "schema/enum_words.h"

namespace giftsync::sync {
namespace {

constexpr auto kCredentialStates =
    schema::enum_words<CredentialState>({{CredentialState::active, "active"},
                                         {CredentialState::expiring, "expiring"},
                                         {CredentialState::expired, "expired"},
                                         {CredentialState::revoked, "revoked"}});

CredentialState state_by_expiry(std::optional<platform::UtcMillis> expires_at, platform::UtcMillis now) {
  if (!expires_at) return CredentialState::active;
  return *expires_at <= now ? CredentialState::expired : CredentialState::expiring;
}

template <typename Credential>
CredentialState credential_state(const Credential& credential, platform::UtcMillis now) {
  return credential.revoked_at ? CredentialState::revoked : state_by_expiry(credential.expires_at, now);
}

}  // namespace

std::string_view to_word(CredentialState state) {
  return kCredentialStates.word_of(state);
}

CredentialState state_of(const schema::store::ApiKey& key, platform::UtcMillis now) {
  return credential_state(key, now);
}

CredentialState state_of(const schema::store::OrganizationToken& token, platform::UtcMillis now) {
  return credential_state(token, now);
}

CredentialState state_of(const schema::store::MessageToken& token, platform::UtcMillis now) {
  return state_by_expiry(token.expires_at, now);
}

ApiKeyAccess access_of(const schema::store::ApiKeyOwner& caller, std::optional<schema::Scope> needed,
                       platform::UtcMillis now) {
  if (!is_usable(state_of(caller.key, now)) || !caller.account.active) return ApiKeyAccess::refused;
  if (!schema::has_api_access(caller.account.plan)) return ApiKeyAccess::plan_without_api_access;
  if (needed && !caller.key.scopes.contains(*needed)) return ApiKeyAccess::missing_scope;
  return ApiKeyAccess::allowed;
}

}  // namespace giftsync::sync
