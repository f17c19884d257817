// daemon/identity/oidc: what a provider's discovery document says (OIDC-1). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/identity/jose/jwk_set.h"
#include "daemon/signin/sign_in_outcome.h"

namespace giftsync::oidc {

using signin::Outcome;
using signin::refuse;
using signin::RuleVerdicts;
using signin::SignInRefusal;

/// The endpoints are https URLs; those of the last group may be empty.
struct Provider {
  std::string issuer;
  std::string authorization_endpoint;
  std::string token_endpoint;
  std::string jwks_uri;
  std::string userinfo_endpoint;
  bool takes_basic = true;    ///< client_secret_basic; else client_secret_post
  bool names_issuer = false;  ///< its replies carry `iss` (RFC 9207)
  std::string tenant = {};    ///< a directory's id, lower case; empty for other providers
  jose::JwkSet keys = {};
};

/// Without keys. A member that `sso check` reports as a fault refuses the document.
Outcome<Provider> parse_provider(std::string_view document, const config::SsoSettings& sso,
                                 const config::SsoConnectionSettings& connection);

/// Whether a response with this HTTP status (0: none) may be another one soon.
inline bool is_outage(int status) {
  return status == 0 || status >= 500 || status == 429;
}

/// The id of the directory in an issuer, lower case; nullopt when it has none ("common").
std::optional<std::string> tenant_in_issuer(std::string_view issuer);

}  // namespace giftsync::oidc
