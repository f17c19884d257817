#include "daemon/organization_token.h"

#include "daemon/crypto/api_key.h"
#include "schema/text.h"

namespace giftsync::daemon {

sync::TokenStanding token_standing(schema::OrganizationBook& organizations, std::string_view token,
                                   schema::UtcMillis now) {
  using State = sync::TokenStanding::State;
  const std::string_view text = schema::trimmed(token);
  if (text.empty()) return {State::missing, {}, {}};
  // What is no token is refused without asking the store.
  if (!is_organization_token(text)) return {State::unknown, {}, {}};
  const std::string hash = api_key_hash(text);
  const auto found = organizations.find_token(hash);
  if (!found || !equal_in_constant_time(found->hash, hash)) return {State::unknown, {}, {}};
  if (found->revoked_at) return {State::revoked, {}, {}};
  if (found->expires_at && *found->expires_at <= now) return {State::expired, {}, {}};
  return {State::active, found->organization, found->organization_name};
}

std::string_view token_state(const schema::OrganizationToken& token, schema::UtcMillis now) {
  if (token.revoked_at) return "revoked";
  if (!token.expires_at) return "active";
  return *token.expires_at <= now ? "expired" : "ending";
}

}  // namespace giftsync::daemon
