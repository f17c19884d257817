#include "daemon/identity/oidc/oidc_client.h"

#include "daemon/identity/jose/jws_verifier.h"
#include "daemon/identity/oidc/id_token.h"
#include "platform/digest.h"
#include "platform/random.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::oidc {
namespace {

constexpr std::size_t kRandomBytes = 32;

/// A token of another kind, such as a logout token, is signed with the same keys.
bool is_id_token_type(const std::string& type) {
  return type.empty() || platform::ascii_lower(type) == "jwt";
}

}  // namespace

std::string random_token() {
  return platform::to_base64url(platform::random_bytes(kRandomBytes));
}

AuthorizationRequest make_authorization_request(platform::UtcMillis now, bool must_reauthenticate) {
  return {random_token(), random_token(), random_token(), now, must_reauthenticate};
}

Outcome<std::string> OidcClient::begin(const config::SsoConnectionSettings& connection,
                                       const AuthorizationRequest& request) {
  const DiscoveryCache::Found provider = discovery_.find(connection, request.begun_at);
  if (!provider) return tl::unexpected(provider.error());
  return authorization_url(**provider, sso_, connection, request);
}

Outcome<VerifiedIdentity> OidcClient::complete(const config::SsoConnectionSettings& connection,
                                               const AuthorizationReply& reply,
                                               const AuthorizationRequest& request, platform::UtcMillis now,
                                               RuleVerdicts& verdicts) {
  const DiscoveryCache::Found found = discovery_.find(connection, now);
  if (!found) return tl::unexpected(found.error());
  const Provider& provider = **found;
  verdicts.push_back({"OIDC-1", "discovery document and keys are valid"});
  if (const auto checked = check_authorization_reply(reply, provider); !checked)
    return tl::unexpected(checked.error());
  verdicts.push_back({"OIDC-2", "the reply is of this provider and has a code"});
  const auto tokens = parse_token_reply(send_(
      token_request(provider, sso_, connection, reply.code, request.code_verifier), connection.ca_file));
  if (!tokens) return tl::unexpected(tokens.error());
  verdicts.push_back({"OIDC-3", "the code was exchanged with the PKCE verifier"});
  const auto payload = verified_payload(connection, provider, tokens->id_token, now);
  if (!payload) return tl::unexpected(payload.error());
  const auto claims = platform::parse_json(platform::without_byte_order_mark(*payload));
  if (!claims || !claims->root().is_object())
    return refuse("OIDC-4", "The ID token's claims are no strict JSON object.");
  verdicts.push_back({"OIDC-4", "the ID token's header and signature hold"});
  ExpectedToken expected{provider.issuer,      connection.client_id, request.nonce,
                         tokens->access_token, reply.code,           {}};
  if (request.must_reauthenticate) expected.authenticated_after = request.begun_at;
  if (const auto valid = validate_id_token(claims->root(), expected, now, verdicts); !valid)
    return tl::unexpected(valid.error());
  return identity_of(connection, provider, claims->root(), tokens->access_token, verdicts);
}

Outcome<std::string> OidcClient::verified_payload(const config::SsoConnectionSettings& connection,
                                                  const Provider& provider, const std::string& token,
                                                  platform::UtcMillis now) {
  using Reason = jose::JwsRefusal::Reason;
  auto verified = jose::verify_jws(token, provider.keys, connection.algorithms);
  if (!verified && verified.error().reason == Reason::unknown_key) {
    const DiscoveryCache::Found renewed = discovery_.find_with_new_keys(connection, now);
    if (!renewed) return tl::unexpected(renewed.error());
    verified = jose::verify_jws(token, (*renewed)->keys, connection.algorithms);
  }
  if (!verified) return refuse("OIDC-4", "The ID token {}.", verified.error().text);
  if (!is_id_token_type(verified->type)) return refuse("OIDC-4", "The token is no ID token (typ).");
  return std::move(verified->payload);
}

Outcome<VerifiedIdentity> OidcClient::identity_of(const config::SsoConnectionSettings& connection,
                                                  const Provider& provider, const platform::JsonValue& claims,
                                                  const std::string& access_token, RuleVerdicts& verdicts) {
  if (connection.kind == config::SsoKind::directory) {
    auto identity = directory_identity(claims, connection, provider.tenant);
    if (!identity) return identity;
    verdicts.push_back({"OIDC-9", "tid is the connection's directory"});
    verdicts.push_back({"OIDC-10", "oid is there"});
    verdicts.push_back({"OIDC-11", "the user is no guest, or guests may sign in"});
    verdicts.push_back({"OIDC-12", "name and address are lines"});
    return identity;
  }
  const platform::JsonValue* source = &claims;
  std::optional<platform::JsonDocument> userinfo;
  if (claims.find("email") == nullptr && !provider.userinfo_endpoint.empty()) {
    auto reply = parse_userinfo(send_(userinfo_request(provider, access_token), connection.ca_file),
                                claims.text_of("sub"));
    if (!reply) return tl::unexpected(reply.error());
    verdicts.push_back({"OIDC-7", "the userinfo endpoint replies about the same sub"});
    source = &userinfo.emplace(std::move(*reply)).root();
  }
  auto identity = oidc_identity(*source, connection);
  if (!identity) return identity;
  verdicts.push_back({"OIDC-8", "the address is not one that the provider calls unverified"});
  verdicts.push_back({"OIDC-12", "name and address are lines"});
  identity->authenticated_at = time_claim(claims, "auth_time");
  return identity;
}

}  // namespace giftsync::daemon::identity::oidc
