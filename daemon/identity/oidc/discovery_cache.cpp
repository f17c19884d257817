#include "daemon/identity/oidc/discovery_cache.h"

#include <fmt/format.h>

#include <chrono>

#include "daemon/config/connection_urls.h"

namespace giftsync::oidc {
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
