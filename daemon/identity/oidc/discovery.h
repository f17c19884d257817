// daemon/identity/oidc: fetches the providers' documents and keeps them for an hour (OIDC-1). Any thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/identity/jose/jws.h"
#include "daemon/signin/sign_in_outcome.h"
#include "platform/http_client.h"
#include "platform/time.h"

namespace giftsync::oidc {

// What a provider's discovery document says (OIDC-1). Pure.

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
