#include "daemon/config/connection_urls.h"

#include <algorithm>

#include "platform/http_client.h"

namespace giftsync::config {
namespace {

/// The host of an https URL without a user; an IPv6 address without its brackets, which a URN must not
/// contain.
std::string host_of(const std::string& url) {
  std::string_view rest = url;
  rest.remove_prefix(std::min(rest.find("//") + 2, rest.size()));
  rest = rest.substr(0, rest.find('/'));
  if (rest.starts_with('[')) return std::string(rest.substr(1, rest.find(']') - 1));
  return std::string(rest.substr(0, rest.find(':')));
}

}  // namespace

std::string login_redirect_url(const SsoSettings& sso) {
  return sso.auth_url + "/login/callback";
}

std::string post_back_url(const SsoSettings& sso, const SsoConnectionSettings& connection) {
  return login_redirect_url(sso) + "?connection=" + connection.name;
}

std::string saml_entity_id(const SsoSettings& sso, const SsoConnectionSettings& connection) {
  return "urn:giftsync:" + host_of(sso.auth_url) + ":" + connection.name;
}

std::string saml_metadata_url(const Settings& settings, const SsoConnectionSettings& connection) {
  return settings.server.admin_url + std::string(kSamlMetadataPath) + connection.name;
}

std::string webhook_url(const std::string& admin_url, const SourceSettings& source) {
  return source.kind == SourceKind::poll ? "" : admin_url + "/api/v1/webhooks/status_changes/" + source.name;
}

ProviderEndpoints provider_endpoints(const SsoSettings& sso, const SsoConnectionSettings& connection) {
  constexpr std::string_view kWellKnown = "/.well-known/openid-configuration";
  if (connection.kind == SsoKind::oidc) {
    std::string base = connection.issuer;
    if (base.ends_with('/')) base.pop_back();
    return {connection.issuer, base + std::string(kWellKnown), {}, {}};
  }
  const std::string root = sso.authority + "/" + connection.domain;
  if (!connection.identity_api_v2)
    return {{}, root + std::string(kWellKnown), root + "/oauth2/authorize", root + "/oauth2/token"};
  return {root + "/v2.0", root + "/v2.0" + std::string(kWellKnown), root + "/oauth2/v2.0/authorize",
          root + "/oauth2/v2.0/token"};
}

namespace {

/// The API name of "contact" and the other objects.
std::string object_api_name(const CrmSettings& crm, std::string_view object) {
  if (object == "gift_record") {
    const auto named = std::find_if(crm.objects.begin(), crm.objects.end(),
                                    [&](const auto& one) { return one.first == object; });
    if (named != crm.objects.end()) return named->second;
    return (crm.name_space.empty() ? "" : crm.name_space + "__") + "Gift_Record__c";
  }
  std::string name(object);
  if (!name.empty() && name.front() >= 'a' && name.front() <= 'z')
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
  return name;
}

}  // namespace

std::string record_url(const CrmSettings& crm, std::string_view object, const std::string& id) {
  std::string url = crm.record_url;
  if (url.empty() && crm.kind() == CrmKind::salesforce && !crm.salesforce.domain.empty())
    url = crm.salesforce.domain + "/{id}";
  if (url.empty() || id.empty()) return {};
  const auto put = [&url](std::string_view placeholder, const std::string& value) {
    const std::size_t at = url.find(placeholder);
    if (at != std::string::npos) url.replace(at, placeholder.size(), percent_encoded(value));
  };
  put("{object}", object_api_name(crm, object));
  put("{id}", id);
  return url;
}

std::string_view to_word(SsoKind kind) {
  return kind == SsoKind::oidc ? "oidc" : kind == SsoKind::saml ? "saml" : "directory";
}

std::vector<std::string> all_domains(const SsoConnectionSettings& connection) {
  std::vector<std::string> domains = connection.domains;
  const bool is_new = !connection.domain.empty() &&
                      std::find(domains.begin(), domains.end(), connection.domain) == domains.end();
  if (is_new) domains.push_back(connection.domain);
  return domains;
}

}  // namespace giftsync::config
