// daemon/identity/oidc: exchanges the code for tokens (OIDC-3) and asks for the user's address where the ID
// token has none (OIDC-7). Requests and replies as values. Pure.
#pragma once

#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/identity/oidc/provider.h"
#include "platform/http_client.h"
#include "platform/strict_json.h"

namespace giftsync::daemon::identity::oidc {

/// Has the client's secret and the code: never log it.
platform::HttpRequest token_request(const Provider& provider, const config::SsoSettings& sso,
                                    const config::SsoConnectionSettings& connection, const std::string& code,
                                    const std::string& code_verifier);

/// They are used once and stored nowhere.
struct Tokens {
  std::string id_token;
  std::string access_token;
};
Outcome<Tokens> parse_token_reply(const platform::HttpResponse& response);

platform::HttpRequest userinfo_request(const Provider& provider, const std::string& access_token);
/// The claims; refused unless `sub` is that of the ID token.
Outcome<platform::JsonDocument> parse_userinfo(const platform::HttpResponse& response,
                                               std::string_view subject);

}  // namespace giftsync::daemon::identity::oidc
