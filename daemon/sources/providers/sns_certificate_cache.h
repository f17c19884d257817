// daemon/sources/providers: fetches the URLs in SNS messages. Certificates are cached for a day, and longer
// while they cannot be fetched again. The number of requests per minute is limited, so forged messages do not
// cause one request each. Any thread.
#pragma once

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

  /// The body of a 200; nullopt for any other response and beyond the limit. The caller has checked
  /// that the URL is on the host of its topic (sns_host_of).
  /// For a certificate the cached copy, however old, when the fetch fails.
  std::optional<std::string> operator()(const std::string& url);

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
  platform::FixedWindowLimiter<int> fetches_{10, platform::kMinuteMillis, 1};
};

}  // namespace giftsync::daemon::sources
