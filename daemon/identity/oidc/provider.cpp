#include "daemon/identity/oidc/provider.h"

#include <algorithm>

#include "daemon/config/text_checks.h"
#include "daemon/signin/connection_check.h"
#include "platform/strict_json.h"
#include "platform/text.h"
#include "platform/visible_text.h"

namespace giftsync::oidc {
namespace {

/// An optional endpoint; empty when it is absent or no https URL.
std::string optional_endpoint(const JsonValue& root, std::string_view name) {
  std::string url(root.text_of(name));
  std::string checked = url;
  return url.empty() || config::check_https_url(checked) ? std::string() : url;
}

/// Absent means client_secret_basic alone (OpenID Connect Discovery 1.0, section 3).
bool takes_basic(const JsonValue& root) {
  const JsonValue* methods = root.find("token_endpoint_auth_methods_supported");
  if (methods == nullptr || !methods->is_array()) return true;
  return std::any_of(methods->elements().begin(), methods->elements().end(),
                     [](const JsonValue& one) { return one.text() == "client_secret_basic"; });
}

}  // namespace

std::optional<std::string> tenant_in_issuer(std::string_view issuer) {
  if (issuer.ends_with("/v2.0")) issuer.remove_suffix(5);
  if (issuer.ends_with('/')) issuer.remove_suffix(1);
  std::string id(issuer.substr(issuer.rfind('/') + 1));
  return config::check_tenant_id(id) ? std::nullopt : std::optional(id);
}

Outcome<Provider> parse_provider(std::string_view document, const config::SsoSettings& sso,
                                 const config::SsoConnectionSettings& connection) {
  signin::CheckReport report;
  const signin::AdvertisedEndpoints endpoints = signin::validate_discovery(document, sso, connection, report);
  for (const signin::CheckResult& result : report.all())
    if (result.kind == signin::CheckResult::Kind::failure) return refuse("OIDC-1", "{}", result.text);
  const auto json = parse_json(without_byte_order_mark(document));
  const JsonValue& root = json->root();
  Provider provider;
  provider.issuer = root.text_of("issuer");
  provider.authorization_endpoint = endpoints.authorize;
  provider.token_endpoint = endpoints.token;
  provider.jwks_uri = endpoints.jwks;
  provider.userinfo_endpoint = optional_endpoint(root, "userinfo_endpoint");
  provider.takes_basic = takes_basic(root);
  const JsonValue* names_issuer = root.find("authorization_response_iss_parameter_supported");
  provider.names_issuer = names_issuer != nullptr && names_issuer->boolean() == true;
  if (connection.kind != config::SsoKind::directory) return provider;
  const auto tenant = tenant_in_issuer(provider.issuer);
  if (!tenant) {
    return refuse("OIDC-9",
                  "The issuer {} does not name one directory by its id. Set sso.connections.domain to a "
                  "domain of the customer's own directory.",
                  in_quotes(provider.issuer));
  }
  provider.tenant = *tenant;
  return provider;
}

}  // namespace giftsync::oidc
