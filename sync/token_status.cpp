#include "sync/token_status.h"

#include "platform/text.h"
#include "sync/api_key.h"
#include "sync/credential_state.h"

namespace giftsync::sync {

TokenStatus token_status(schema::store::Organizations& organizations, std::string_view token,
                         platform::UtcMillis now) {
  using State = TokenStatus::State;
  const std::string_view text = platform::trimmed(token);
  if (text.empty()) return {State::missing, {}, {}};
  // Malformed tokens are refused without a query.
  if (!is_organization_token(text)) return {State::unknown, {}, {}};
  const std::string hash = api_key_hash(text);
  const auto found = organizations.find_token_by_hash(hash);
  if (!found || !platform::equal_in_constant_time(found->hash, hash)) return {State::unknown, {}, {}};
  const CredentialState state = state_of(*found, now);
  if (state == CredentialState::revoked) return {State::revoked, {}, {}};
  if (state == CredentialState::expired) return {State::expired, {}, {}};
  return {State::active, found->organization, found->organization_name};
}

}  // namespace giftsync::sync
