// daemon/identity/oidc: the URL to which a browser is sent to sign in, and the reply with which it comes back
// (OIDC-2, OIDC-3). Pure.
#pragma once

#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/identity/oidc/provider.h"
#include "platform/time.h"

namespace giftsync::oidc {

/// Three random texts, of 32 bytes each as base64url. Kept with the attempt: the reply is compared with it.
struct AuthorizationRequest {
  std::string state;
  std::string nonce;
  std::string code_verifier;
  UtcMillis begun_at;
  bool must_reauthenticate = false;  ///< the user proves again who they are (max_age=0)
};

/// Which of the two URLs that `sso show` prints the provider sends the browser back to, by the setting
/// `redirect`.
std::string redirect_uri(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection);

std::string authorization_url(const Provider& provider, const config::SsoSettings& sso,
                              const config::SsoConnectionSettings& connection,
                              const AuthorizationRequest& request);

/// Absent parameters are empty.
struct AuthorizationReply {
  std::string state;
  std::string code;
  std::string issuer;             ///< iss
  std::string connection;         ///< of the post-back URL
  std::string error;              ///< "access_denied"
  std::string error_description;  ///< of the provider: show it as text only
};

/// Refuses repeated parameters, and text that is not UTF-8 or has a NUL.
Outcome<AuthorizationReply> parse_authorization_reply(std::string_view query);

/// Refuses an error, another issuer, and a reply without a code.
Outcome<void> check_authorization_reply(const AuthorizationReply& reply, const Provider& provider);

}  // namespace giftsync::oidc
