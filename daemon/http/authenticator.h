// daemon/http: maps the Authorization header to an account, or to a response that says why it is refused. A
// revoked, paused or rotated key takes effect within a second, whichever program revoked it. Any thread.
// (HTTP-25, HTTP-30)
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "daemon/http/request_rate_limiter.h"
#include "platform/clock.h"
#include "platform/ttl_cache.h"
#include "schema/store/account/credentials.h"

namespace giftsync::http {

/// With this header a test key asks for a failure (TEST-6).
inline constexpr const char* kTestResponse = "Giftsync-Test-Response";

/// The header of an organization's token, for the CRM's sending interface (REQ-36).
inline constexpr const char* kOrganizationToken = "Organization-Token";

/// Says that a key or token was given in place of the one that the address takes, or in the header of another
/// one: "Found an API key (gsk_live_...) in Authorization; this address takes ..."; empty if neither header
/// has one. By how the text begins alone, so that it tells nothing of what is known.
std::string other_credential(const HttpRequest& request, CredentialKind needed);

/// The key's text from "Authorization: KEY" or "Authorization: Bearer KEY" (the scheme in any case), trimmed.
/// Nullopt for anything else: no such header or two of them, another scheme, nothing after the scheme, or
/// characters and lengths that no key has.
std::optional<std::string> api_key_from_header(const HttpRequest& request);

class Authenticator {
 public:
  /// `requests_per_minute`: of each key; 0 for no limit. `takes_test_keys`: test.enabled.
  Authenticator(store::Credentials& credentials, giftsync::Clock clock, std::int64_t requests_per_minute,
                bool takes_test_keys = true);

  using Handler = std::function<Reply(const store::ApiKeyOwner& caller)>;
  /// The reply of `handler` for a caller with that scope, with the key's rate-limit headers, or a refusal. A
  /// paused key is refused for the scope send (HTTP-51). A test key may ask for a failure instead (TEST-6).
  /// Throws DependencyError when the store fails.
  Reply handle_authenticated(const HttpRequest& request, Scope needed, const Handler& handler);

  /// Saves the last-used times of the keys. Called periodically, not with every request.
  void flush_last_used();

 private:
  using KeyOwner = std::shared_ptr<const store::ApiKeyOwner>;
  /// The owner of the request's key, never null, if the key has that scope; or the refusal.
  tl::expected<KeyOwner, HttpResponse> authenticate(const HttpRequest& request, Scope needed);
  tl::expected<KeyOwner, HttpResponse> authenticate_key(const std::string& text, Scope needed);
  void record_use(CredentialId key);

  store::Credentials& credentials_;
  const giftsync::Clock clock_;
  const bool takes_test_keys_;
  RequestRateLimiter rate_limiter_;
  TtlCache<std::string, store::ApiKeyOwner> key_cache_;
  std::mutex mutex_;
  std::map<CredentialId, UtcMillis> last_used_;  // guarded by mutex_
};

}  // namespace giftsync::http
