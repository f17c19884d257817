#include "daemon/identity/oidc/token_exchange.h"

#include <fmt/format.h>

#include "daemon/identity/oidc/authorization_request.h"
#include "platform/digest.h"
#include "platform/quoted_text.h"
#include "platform/text.h"

namespace giftsync::daemon::identity::oidc {
namespace {

using platform::JsonValue;

/// The JSON object of a reply.
Outcome<platform::JsonDocument> parse_object(const std::string& rule, const std::string& what,
                                             const platform::HttpResponse& response) {
  auto json = platform::parse_json(platform::without_byte_order_mark(response.body));
  const bool is_object = json && json->root().is_object();
  if (response.status != 200) {
    const std::string_view error = is_object ? json->root().text_of("error") : "";
    const std::string text =
        response.status == 0
            ? fmt::format("{}'s reply cannot be fetched: {}.", what, response.error)
            : fmt::format("{} responds with {}{}.", what, response.status,
                          error.empty() ? "" : " and the error " + platform::in_quotes(error));
    return tl::unexpected(SignInRefusal{rule, text, is_outage(response.status)});
  }
  if (!is_object) return refuse(rule, "{} responds with a text that is no strict JSON object.", what);
  return std::move(*json);
}

}  // namespace

platform::HttpRequest token_request(const Provider& provider, const config::SsoSettings& sso,
                                    const config::SsoConnectionSettings& connection, const std::string& code,
                                    const std::string& code_verifier) {
  const auto encoded = [](std::string_view text) { return platform::percent_encoded(text); };
  platform::HttpRequest request{
      .method = "POST",
      .url = provider.token_endpoint,
      .headers = {"Content-Type: application/x-www-form-urlencoded", "Accept: application/json"},
      .body = "grant_type=authorization_code&code=" + encoded(code) + "&redirect_uri=" +
              encoded(redirect_uri(sso, connection)) + "&code_verifier=" + encoded(code_verifier)};
  const std::string id = encoded(connection.client_id);
  const std::string secret = encoded(connection.client_secret.reveal());
  if (provider.takes_basic)
    request.headers.push_back("Authorization: Basic " + platform::to_base64_text(id + ":" + secret));
  else
    request.body += "&client_id=" + id + "&client_secret=" + secret;
  return request;
}

Outcome<Tokens> parse_token_reply(const platform::HttpResponse& response) {
  const auto json = parse_object("OIDC-3", "The token endpoint", response);
  if (!json) return tl::unexpected(json.error());
  const JsonValue& root = json->root();
  Tokens tokens{std::string(root.text_of("id_token")), std::string(root.text_of("access_token"))};
  if (platform::ascii_lower(root.text_of("token_type")) != "bearer")
    return refuse("OIDC-3", "The token endpoint's reply has another token_type than Bearer.");
  if (tokens.id_token.empty() || tokens.access_token.empty())
    return refuse("OIDC-3", "The token endpoint's reply lacks id_token or access_token.");
  return tokens;
}

platform::HttpRequest userinfo_request(const Provider& provider, const std::string& access_token) {
  return {.url = provider.userinfo_endpoint,
          .headers = {"Authorization: Bearer " + access_token, "Accept: application/json"}};
}

Outcome<platform::JsonDocument> parse_userinfo(const platform::HttpResponse& response,
                                               std::string_view subject) {
  auto json = parse_object("OIDC-7", "The userinfo endpoint", response);
  if (!json) return json;
  if (json->root().text_of("sub") != subject)
    return refuse("OIDC-7", "The userinfo endpoint's reply is about another sub than the ID token.");
  return json;
}

}  // namespace giftsync::daemon::identity::oidc
