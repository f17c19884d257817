#include "daemon/identity/oidc/authorization_request.h"

#include <fmt/format.h>

#include <map>

#include "daemon/config/connection_urls.h"
#include "platform/digest.h"
#include "platform/http_client.h"
#include "platform/quoted_text.h"
#include "platform/text.h"
#include "platform/url_parameters.h"

namespace giftsync::daemon::identity::oidc {
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
      {"code_challenge", platform::to_base64url(platform::sha256(request.code_verifier))},
      {"code_challenge_method", "S256"}};
  if (request.must_reauthenticate) parameters.emplace_back("max_age", "0");
  std::string url = provider.authorization_endpoint;
  for (const auto& [name, value] : parameters) url = platform::with_query_parameter(url, name, value);
  return url;
}

tl::expected<AuthorizationReply, SignInRefusal> parse_authorization_reply(std::string_view query) {
  if (query.size() > kMaxReplyBytes) return refuse("OIDC-2", "The provider's reply is longer than 16 KiB.");
  AuthorizationReply reply;
  const std::map<std::string_view, std::string*> known{
      {"state", &reply.state}, {"code", &reply.code},
      {"iss", &reply.issuer},  {"connection", &reply.connection},
      {"error", &reply.error}, {"error_description", &reply.error_description}};
  std::map<std::string, int> seen;
  const auto parameters = platform::parse_url_parameters(query);
  if (!parameters) return refuse("OIDC-2", "The provider's reply is not a valid query.");
  for (const auto& [name, value] : *parameters) {
    if (!platform::is_storable_text(name) || !platform::is_storable_text(value))
      return refuse("OIDC-2", "The provider's reply has a parameter that is not valid text.");
    if (++seen[name] > 1) {
      return refuse("OIDC-2", "The provider's reply repeats the parameter {}.", platform::in_quotes(name));
    }
    if (const auto member = known.find(name); member != known.end()) *member->second = value;
  }
  return reply;
}

tl::expected<void, SignInRefusal> check_authorization_reply(const AuthorizationReply& reply,
                                                            const Provider& provider) {
  if (!reply.error.empty()) {
    const std::string more =
        reply.error_description.empty() ? "" : ": " + platform::in_quotes(reply.error_description);
    return refuse("OIDC-2", "The provider replies with the error {}{}.", platform::in_quotes(reply.error),
                  more);
  }
  if (reply.issuer != provider.issuer && (provider.names_issuer || !reply.issuer.empty())) {
    return refuse("OIDC-2", "The reply comes from issuer {}, not from {}.", platform::in_quotes(reply.issuer),
                  provider.issuer);
  }
  if (reply.code.empty()) return refuse("OIDC-2", "The provider's reply has neither a code nor an error.");
  return {};
}

}  // namespace giftsync::daemon::identity::oidc
