// sync: the rules of outgoing webhooks: what an attempt's outcome means for its event and its endpoint, which
// place an endpoint has after a batch, which addresses may be reached, and the signature. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/ip_address.h"
#include "platform/time.h"
#include "schema/store/event/webhook_endpoints.h"

namespace giftsync::sync {

// Attempts.

/// What came of one POST.
struct WebhookResponse {
  int status = 0;                                       ///< 0: no complete response
  std::optional<std::int64_t> retry_after_millis = {};  ///< of its Retry-After
};
enum class WebhookOutcome { accepted, failed, gone };
/// 2xx is a success, 410 ends all posting, all else fails (HOOK-4).
WebhookOutcome outcome_of(const WebhookResponse& response);

/// The longest Retry-After that counts (HOOK-4).
inline constexpr std::int64_t kMaxRetryAfterMillis = kDayMillis;
/// The wait that a Retry-After header names, in seconds or as a date; nullopt for other text.
std::optional<std::int64_t> retry_after(const std::string& header, UtcMillis now);

/// The wait after the failed attempt number `attempt` (1: the first) of an event, or nullopt when it is given
/// up (HOOK-6). `random` from 0 to 1,000 moves it by a fifth less or more.
std::optional<std::int64_t> retry_wait(std::int64_t attempt, const WebhookResponse& response,
                                       std::int64_t random);
/// The wait before an endpoint that failed `failures` times in a row is tested again (HOOK-7).
std::int64_t failing_wait(std::int64_t failures, const WebhookResponse& response);

/// So many failures in a row of different events mean that the endpoint is at fault (HOOK-7).
inline constexpr std::int64_t kFailuresOfEndpoint = 5;
/// After so long without a success a failing endpoint is disabled (HOOK-8).
inline constexpr std::int64_t kDisabledAfterMillis = 3 * kDayMillis;

// A batch of events, in the order of their numbers.

struct WebhookStanding {
  WebhookState state = WebhookState::active;
  UtcMillis state_since = {};
  std::int64_t failures = 0;  ///< in a row, of first attempts; while it fails also of its tests
};

/// Follows the attempts of a batch as they end. Not thread-safe.
class WebhookBatch {
 public:
  /// `events`: the numbers behind the position that the endpoint subscribes to, ascending. `scanned`: the
  /// last number that was looked at; all others up to it are passed.
  WebhookBatch(const WebhookStanding& before, std::int64_t position, std::int64_t scanned,
               std::vector<std::int64_t> events);

  /// Whether one more first attempt may begin: not once the endpoint is known to be at fault.
  bool may_begin() const;
  /// The outcome of the first attempt of an event of the batch.
  void add(std::int64_t seq, WebhookOutcome outcome);
  /// The outcome of a retry. A failure says nothing about the endpoint, since it may be the event's fault;
  /// but it counts where a retry tests a failing one.
  void add_retry(WebhookOutcome outcome);

  bool is_gone() const { return is_gone_; }
  std::int64_t failures() const { return failures_; }
  /// The position after the batch (HOOK-5): before the first event that was not tried, or that failed in the
  /// row of failures that speaks against the endpoint.
  std::int64_t position() const;
  /// The events up to position() that failed: each is tried again by itself.
  std::vector<std::int64_t> failed() const;
  /// What the endpoint is then. `now`: of the last attempt.
  WebhookStanding standing(UtcMillis now) const;

 private:
  bool is_at_fault() const { return is_gone_ || failures_ >= kFailuresOfEndpoint; }

  const WebhookStanding before_;
  const std::int64_t position_;
  const std::int64_t scanned_;
  const std::vector<std::int64_t> events_;
  std::set<std::int64_t> tried_;
  std::set<std::int64_t> failed_;
  std::set<std::int64_t> row_;  ///< of failed_: since the last success
  std::int64_t failures_;
  bool is_gone_ = false;
  bool has_success_ = false;
  bool has_tested_ = false;
};

/// The connection, of `connections`, that posts the events of an object: of one gift always the same.
std::size_t connection_of(std::int64_t object_id, std::size_t connections);

// Addresses (HOOK-11).

/// Why an address may not be reached, as a clause; nullopt: it may. `is_plain`: the URL is http.
std::optional<std::string> address_refusal(const IpAddress& address, std::span<const IpNetwork> allowed,
                                           bool is_plain);

inline constexpr std::size_t kMaxWebhookUrlBytes = 2048;
/// Why an endpoint may not have this URL, before its name is resolved, as a sentence; nullopt: it may.
std::optional<std::string> webhook_url_error(const std::string& url);

// Signature: Standard Webhooks 1.0.0, "v1" (HOOK-2).

/// "whsec_" and base64 of 32 random bytes.
std::string new_webhook_secret();
/// The value of webhook-signature: one for each secret, in their order, separated by spaces.
std::string webhook_signatures(std::span<const std::string> secrets, const std::string& id,
                               std::int64_t timestamp_seconds, std::string_view body);

}  // namespace giftsync::sync
