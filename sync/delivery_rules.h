// sync: what follows from one attempt to deliver a mail (design 3.5). Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::sync {

/// What became of one attempt.
enum class SendVerdict {
  accepted,         ///< positive reply to the final dot
  refused,          ///< 5xx to RCPT or DATA: concerns this recipient, for good
  try_later,        ///< 4xx to RCPT or DATA: concerns this recipient, for now
  transport_fault,  ///< everything before (DNS, connect, TLS, greeting, AUTH, MAIL FROM), and 421: not this
                    ///< mail's fault
  uncertain,        ///< the final dot was sent, its reply never came
};

struct DeliveryPolicy {
  bool delivered_when_accepted = true;  ///< email.delivered_when: accepted (else reported by somebody else)
  bool hold_uncertain = false;          ///< email.uncertain: hold
  bool may_give_up = true;  ///< false while the clock is in doubt: a recipient's day of patience does not end
};

inline constexpr std::int64_t kRefusedForNowMillis = 24 * schema::kHourMillis;
/// An uncertain mail is repeated this often; then an admin has to look (`held`).
inline constexpr std::int64_t kMostUncertainRepeats = 3;
inline constexpr std::int64_t kUncertainRetryMillis = 15 * schema::kMinuteMillis;
/// A mail that its recipient's server put off waits a minute, then twice as long each time, at most so long.
inline constexpr std::int64_t kLongestPutOffMillis = schema::kHourMillis;
/// No mail waits longer, whatever became of its last attempt.
inline constexpr std::int64_t kLongestMailWaitMillis = std::max(kUncertainRetryMillis, kLongestPutOffMillis);
inline constexpr std::int64_t kLongestPauseMillis = 5 * schema::kMinuteMillis;
inline constexpr std::int64_t kLongestSyncRetryMillis = 10 * schema::kMinuteMillis;

/// The row's next state, and the status change that it means, if any.
struct DeliveryNext {
  schema::DeliveryState state = schema::DeliveryState::queued;
  schema::UtcMillis due_at;
  std::optional<schema::Status> status;
};

/// `attempt` counts from 1; `first_try_at` is when the recipient was first deferred; `repeats`: how often it
/// was uncertain before.
DeliveryNext after_attempt(SendVerdict verdict, std::int64_t attempt, schema::UtcMillis first_try_at,
                           schema::UtcMillis now, const DeliveryPolicy& policy, std::int64_t repeats = 0);

/// How long the whole outbox rests after the transport failed `failures` times in a row: 5 s, doubling, at
/// most kLongestPauseMillis.
std::int64_t pause_millis(std::int64_t failures);

/// How long one gift record waits after the CRM failed to take it `failures` times: 2 s, doubling, at most
/// kLongestSyncRetryMillis.
std::int64_t sync_retry_millis(std::int64_t failures);

}  // namespace giftsync::sync
