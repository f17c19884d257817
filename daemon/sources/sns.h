// daemon/sources/providers: SES events through Amazon SNS: verifies the signature over the message's fields,
// confirms a subscription, and parses the SES event (event publishing and feedback notifications).
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/sources/webhook_message.h"
#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"
#include "platform/http_client.h"

namespace giftsync::sources {

WebhookMessage parse_sns_message(const CompiledSource& source, const http::HttpRequest& request,
                                 UtcMillis now, const FetchUrl& fetch);

/// The only host whose certificates sign the messages of the topic with this ARN, such as
/// sns.eu-west-1.amazonaws.com. Never a host that the message names: sns.s3.amazonaws.com is a bucket's.
std::string sns_host_of(std::string_view topic_arn);

/// Whether a URL is https on `host`, default port, no user.
bool is_sns_url(std::string_view url, std::string_view host);

/// Whether a URL can be that of the SNS signing certificate: on `host`, with exactly the path
/// /SimpleNotificationService-<hex digits>.pem and nothing after it.
bool is_sns_certificate_url(std::string_view url, std::string_view host);
/// Whether the path of a URL that is_sns_url() is that of a certificate.
bool has_sns_certificate_path(std::string_view url);

/// The text that SNS signs: names and values, each followed by a line feed; empty for an unknown type.
std::string sns_signed_text(const JsonValue& message);

// Fetches the URLs in SNS messages. Certificates are cached for a day, and longer
// while they cannot be fetched again. The number of requests per minute is limited for each client, so forged
// messages neither cause one request each nor keep another client's certificate from being fetched (SEC-3).
// Any thread.

class SnsCertificateCache {
 public:
  SnsCertificateCache(HttpGet fetch, Clock clock) : http_get_(std::move(fetch)), clock_(std::move(clock)) {}

  /// The body of a 200; nullopt for any other response and beyond the limit of `client`, a numeric address.
  /// The caller has checked that the URL is on the host of its topic (sns_host_of). For a certificate the
  /// cached copy, however old, when the fetch fails.
  std::optional<std::string> operator()(const std::string& url, const std::string& client);

 private:
  struct CachedCertificate {
    std::string text;
    UtcMillis fetched_at;
  };
  std::optional<std::string> fetch_body(const std::string& url);

  const HttpGet http_get_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::string, CachedCertificate> certificates_;  // guarded by mutex_
  FixedWindowLimiter<std::string> fetches_{10, kMinuteMillis, 10'000};
  std::atomic<int> running_{0};
};

}  // namespace giftsync::sources
