// daemon/sources/providers: fetches the URLs in SNS messages. Certificates are cached for a day, and longer
// while they cannot be fetched again. The number of requests per minute is limited for each client, so forged
// messages neither cause one request each nor keep another client's certificate from being fetched (SEC-3).
// Any thread.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"
#include "platform/http_client.h"

namespace giftsync::daemon::sources {

class SnsCertificateCache {
 public:
  SnsCertificateCache(platform::HttpGet fetch, platform::Clock clock)
      : http_get_(std::move(fetch)), clock_(std::move(clock)) {}

  /// The body of a 200; nullopt for any other response and beyond the limit of `client`, a numeric address.
  /// The caller has checked that the URL is on the host of its topic (sns_host_of). For a certificate the
  /// cached copy, however old, when the fetch fails.
  std::optional<std::string> operator()(const std::string& url, const std::string& client);

 private:
  struct CachedCertificate {
    std::string text;
    platform::UtcMillis fetched_at;
  };
  std::optional<std::string> fetch_body(const std::string& url);

  const platform::HttpGet http_get_;
  const platform::Clock clock_;
  std::mutex mutex_;
  std::map<std::string, CachedCertificate> certificates_;  // guarded by mutex_
  platform::FixedWindowLimiter<std::string> fetches_{10, platform::kMinuteMillis, 10'000};
  std::atomic<int> running_{0};
};

}  // namespace giftsync::daemon::sources
