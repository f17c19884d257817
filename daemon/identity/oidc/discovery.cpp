#include "daemon/identity/oidc/discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "daemon/config/connection_urls.h"
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
                     [](const JsonValue& json_value) { return json_value.text() == "client_secret_basic"; });
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

namespace {

constexpr std::int64_t kTimeoutMillis = 10'000;
constexpr std::size_t kMaxBytes = std::size_t{256} * 1024;
constexpr std::int64_t kKeptMillis = 60 * kMinuteMillis;
constexpr std::int64_t kNewKeysMillis = 5 * kMinuteMillis;
/// Longer than a fetch of both documents takes, so that those who waited for it do not fetch again.
constexpr std::int64_t kFailureKeptMillis = 30'000;
constexpr std::chrono::seconds kPatience{1};

tl::unexpected<SignInRefusal> is_being_fetched() {
  return tl::unexpected(
      SignInRefusal{"OIDC-1", "The provider's documents are being fetched, which takes long.", true});
}

}  // namespace

HttpResponse send_to_provider(const HttpRequest& request, const std::string& ca_file) {
  HttpClient client({.ca_file = ca_file,
                     .max_bytes = kMaxBytes,
                     .connect_timeout_millis = kTimeoutMillis / 2,
                     .timeout_millis = kTimeoutMillis,
                     .plain_http = PlainHttp::nowhere});
  return client.send(request);
}

DiscoveryCache::Entry& DiscoveryCache::entry_of(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return entries_[name];
}

DiscoveryCache::Found DiscoveryCache::find(const config::SsoConnectionSettings& connection, UtcMillis now) {
  Entry& entry = entry_of(connection.name);
  const std::unique_lock lock(entry.mutex, kPatience);
  if (!lock) return is_being_fetched();
  if (entry.provider && !has_elapsed(entry.fetched_at, kKeptMillis, now)) return entry.provider;
  if (entry.failure && !has_elapsed(entry.failed_at, kFailureKeptMillis, now))
    return tl::unexpected(*entry.failure);
  Found fetched = fetch(connection);
  entry.failure = fetched ? std::nullopt : std::optional(fetched.error());
  entry.failed_at = now;
  entry.provider = fetched ? *fetched : nullptr;
  entry.fetched_at = now;
  return fetched;
}

DiscoveryCache::Found DiscoveryCache::find_with_new_keys(const config::SsoConnectionSettings& connection,
                                                         UtcMillis now) {
  Found found = find(connection, now);
  Entry& entry = entry_of(connection.name);
  const std::unique_lock lock(entry.mutex, kPatience);
  if (!lock) return is_being_fetched();
  const bool is_too_soon = entry.keys_renewed_at && !has_elapsed(*entry.keys_renewed_at, kNewKeysMillis, now);
  if (!found || !entry.provider || is_too_soon) return found;
  entry.keys_renewed_at = now;
  auto keys = fetch_keys(entry.provider->jwks_uri, connection.ca_file);
  if (!keys) return tl::unexpected(keys.error());
  auto renewed = std::make_shared<Provider>(*entry.provider);
  renewed->keys = std::move(*keys);
  return entry.provider = std::move(renewed);
}

Outcome<std::string> DiscoveryCache::get(const std::string& what, const std::string& url,
                                         const std::string& ca_file) const {
  HttpResponse response = send_({.url = url, .headers = {"Accept: application/json"}}, ca_file);
  if (response.status == 200) return std::move(response.body);
  const std::string reason =
      response.status == 0 ? response.error : fmt::format("the provider responds with {}", response.status);
  return tl::unexpected(SignInRefusal{"OIDC-1",
                                      fmt::format("{} at {} cannot be fetched: {}.", what, url, reason),
                                      is_outage(response.status)});
}

Outcome<jose::JwkSet> DiscoveryCache::fetch_keys(const std::string& url, const std::string& ca_file) const {
  const auto document = get("The list of keys", url, ca_file);
  if (!document) return tl::unexpected(document.error());
  auto keys = jose::parse_jwk_set(*document);
  if (!keys) return refuse("OIDC-1", "The provider's keys are {}.", keys.error());
  return std::move(*keys);
}

DiscoveryCache::Found DiscoveryCache::fetch(const config::SsoConnectionSettings& connection) const {
  const auto document = get("The discovery document", config::provider_endpoints(sso_, connection).discovery,
                            connection.ca_file);
  if (!document) return tl::unexpected(document.error());
  auto provider = parse_provider(*document, sso_, connection);
  if (!provider) return tl::unexpected(provider.error());
  auto keys = fetch_keys(provider->jwks_uri, connection.ca_file);
  if (!keys) return tl::unexpected(keys.error());
  provider->keys = std::move(*keys);
  return std::make_shared<const Provider>(std::move(*provider));
}

}  // namespace giftsync::oidc
