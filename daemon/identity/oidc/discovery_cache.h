// daemon/identity/oidc: fetches the providers' documents and keeps them for an hour (OIDC-1). Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "daemon/identity/oidc/provider.h"
#include "platform/http_client.h"
#include "platform/time.h"

namespace giftsync::oidc {

/// One request to a provider, over TLS alone, with the authorities of `ca_file` (empty: the system's).
using Send = std::function<HttpResponse(const HttpRequest& request, const std::string& ca_file)>;
/// At most 10 s and 256 KiB; follows no redirect.
HttpResponse send_to_provider(const HttpRequest& request, const std::string& ca_file);

class DiscoveryCache {
 public:
  using Found = Outcome<std::shared_ptr<const Provider>>;

  /// `sso` must outlive it.
  DiscoveryCache(const config::SsoSettings& sso, Send send) : sso_(sso), send_(std::move(send)) {}

  /// The provider with its keys, at most an hour old. One thread fetches, the others wait for it, for a
  /// second at most (SIGN-14); a failure is kept for 30 s, so that a provider that is down does not occupy
  /// every thread.
  Found find(const config::SsoConnectionSettings& connection, UtcMillis now);
  /// With new keys, for a token whose key is unknown: at most once in 5 minutes, else as it is.
  Found find_with_new_keys(const config::SsoConnectionSettings& connection, UtcMillis now);

 private:
  struct Entry {
    std::timed_mutex mutex;  ///< held while the documents are fetched
    std::shared_ptr<const Provider> provider;
    UtcMillis fetched_at;
    std::optional<UtcMillis> keys_renewed_at;  ///< for a token whose key was unknown
    std::optional<SignInRefusal> failure;
    UtcMillis failed_at;
  };
  Entry& entry_of(const std::string& name);
  Found fetch(const config::SsoConnectionSettings& connection) const;
  Outcome<std::string> get(const std::string& what, const std::string& url, const std::string& ca_file) const;
  Outcome<jose::JwkSet> fetch_keys(const std::string& url, const std::string& ca_file) const;

  const config::SsoSettings& sso_;
  const Send send_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;  // guarded by mutex_; by the connection's name
};

}  // namespace giftsync::oidc
