// daemon/identity/oidc: a sign-in at an OpenID provider from the redirect to the identity: discovery,
// authorization request, token exchange, validation. It keeps nothing of a sign-in itself. Any thread.
#pragma once

#include <string>

#include "daemon/identity/oidc/authorization_request.h"
#include "daemon/identity/oidc/claims_identity.h"
#include "daemon/identity/oidc/discovery_cache.h"
#include "daemon/identity/oidc/token_exchange.h"

namespace giftsync::daemon::identity::oidc {

/// 32 random bytes as base64url.
std::string random_token();
AuthorizationRequest make_authorization_request(platform::UtcMillis now, bool must_reauthenticate = false);

class OidcClient {
 public:
  /// `sso` must outlive it.
  OidcClient(const config::SsoSettings& sso, Send send)
      : sso_(sso), send_(send), discovery_(sso, std::move(send)) {}

  /// The URL to which the browser goes.
  Outcome<std::string> begin(const config::SsoConnectionSettings& connection,
                             const AuthorizationRequest& request);

  /// `reply` is of the sign-in that `request` began. Uses up the reply's code. `verdicts` gets
  /// the rules that hold.
  Outcome<VerifiedIdentity> complete(const config::SsoConnectionSettings& connection,
                                     const AuthorizationReply& reply, const AuthorizationRequest& request,
                                     platform::UtcMillis now, RuleVerdicts& verdicts);

 private:
  Outcome<std::string> verified_payload(const config::SsoConnectionSettings& connection,
                                        const Provider& provider, const std::string& token,
                                        platform::UtcMillis now);
  Outcome<VerifiedIdentity> identity_of(const config::SsoConnectionSettings& connection,
                                        const Provider& provider, const platform::JsonValue& claims,
                                        const std::string& access_token, RuleVerdicts& verdicts);

  const config::SsoSettings& sso_;
  const Send send_;
  DiscoveryCache discovery_;
};

}  // namespace giftsync::daemon::identity::oidc
