#include "daemon/identity/oidc/authorization_request.h"

#include <fmt/format.h>

#include "daemon/config/connection_urls.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/url_parameters.h"
#include "platform/visible_text.h"

namespace giftsync::oidc {
namespace {

constexpr std::size_t kMaxReplyBytes = std::size_t{16} * 1024;

}  // namespace

std::string redirect_uri(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection) {
  return connection.redirect_to_login ? config::login_redirect_url(sso)
                                      : config::post_back_url(sso, connection);
}

std::string authorization_url(const Provider& provider, const config::SsoSettings& sso,
                              const config::SsoConnectionSettings& connection,
                              const AuthorizationRequest& request) {
  std::vector<std::pair<std::string, std::string>> parameters{
      {"response_type", "code"},
      {"client_id", connection.client_id},
      {"redirect_uri", redirect_uri(sso, connection)},
      {"scope", fmt::format("{}", fmt::join(connection.scopes, " "))},
      {"state", request.state},
      {"nonce", request.nonce},
      {"code_challenge", to_base64url(sha256(request.code_verifier))},
      {"code_challenge_method", "S256"}};
  if (request.must_reauthenticate) parameters.emplace_back("max_age", "0");
  std::string url = provider.authorization_endpoint;
  for (const auto& [name, value] : parameters) url = with_query_parameter(url, name, value);
  return url;
}

Outcome<AuthorizationReply> parse_authorization_reply(std::string_view query) {
  if (query.size() > kMaxReplyBytes) return refuse("OIDC-2", "The provider's reply is longer than 16 KiB.");
  const auto parameters = unique_url_parameters(query);
  if (!parameters) return refuse("OIDC-2", "The provider's reply {}.", parameters.error());
  const auto value = [&](const char* name) {
    const auto found = parameters->find(name);
    return found == parameters->end() ? std::string() : found->second;
  };
  return AuthorizationReply{value("state"),      value("code"),  value("iss"),
                            value("connection"), value("error"), value("error_description")};
}

Outcome<void> check_authorization_reply(const AuthorizationReply& reply, const Provider& provider) {
  if (!reply.error.empty()) {
    const std::string more = reply.error_description.empty() ? "" : ": " + in_quotes(reply.error_description);
    return refuse("OIDC-2", "The provider replies with the error {}{}.", in_quotes(reply.error), more);
  }
  if (reply.issuer != provider.issuer && (provider.names_issuer || !reply.issuer.empty())) {
    return refuse("OIDC-2", "The reply comes from issuer {}, not from {}.", in_quotes(reply.issuer),
                  provider.issuer);
  }
  if (reply.code.empty()) return refuse("OIDC-2", "The provider's reply has neither a code nor an error.");
  return {};
}

}  // namespace giftsync::oidc
