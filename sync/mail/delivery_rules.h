// sync: what follows from one attempt to deliver a mail (MAIL-1, MAIL-2, MAIL-3, MAIL-6). Pure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/enums.h"
#include "schema/store/mail/delivery_queue.h"
#include "schema/store/store.h"

namespace giftsync::sync {

/// The outcome of one attempt.
enum class SendOutcome {
  accepted,         ///< positive reply to the final dot
  refused,          ///< 5xx to RCPT or DATA: permanent; it concerns this recipient unless it is ambiguous
  try_later,        ///< 4xx to RCPT or DATA: temporary, concerns this recipient
  transport_error,  ///< any earlier failure (DNS, connect, TLS, greeting, AUTH, MAIL FROM), and 421: not
                    ///< caused by this mail
  uncertain,        ///< the final dot was sent, no reply was received
};

struct DeliveryPolicy {
  bool delivered_when_accepted =
      true;                     ///< email.delivered_when: accepted (else delivery is reported externally)
  bool hold_uncertain = false;  ///< email.uncertain: hold
  bool may_give_up =
      true;  ///< false while the clock is in doubt: the recipient's one-day limit is not enforced then
};

inline constexpr std::int64_t kMaxDeferredMillis = 24 * kHourMillis;
/// An uncertain mail is repeated this often. Then it is `held` for an admin.
inline constexpr std::int64_t kMaxUncertainRetries = 3;
inline constexpr std::int64_t kUncertainRetryMillis = 15 * kMinuteMillis;
/// A mail that the recipient's server deferred is retried after a minute, then after twice the time before,
/// at most this.
inline constexpr std::int64_t kMaxDeferredRetryMillis = kHourMillis;
/// No mail waits longer, whatever the outcome of its last attempt.
inline constexpr std::int64_t kMaxMailRetryMillis = std::max(kUncertainRetryMillis, kMaxDeferredRetryMillis);
inline constexpr std::int64_t kMaxPauseMillis = 5 * kMinuteMillis;
inline constexpr std::int64_t kMaxSyncRetryMillis = 10 * kMinuteMillis;
/// A record that the CRM refuses as it is costs a call each time, and seldom changes by itself.
inline constexpr std::int64_t kMaxRejectedRetryMillis = kDayMillis;

/// The row's next state, and the status change that follows from it, if any.
struct DeliveryTransition {
  DeliveryState state = DeliveryState::queued;
  UtcMillis next_attempt_at;
  std::optional<Status> status;
};

/// `attempt` counts from 1; `first_deferred_at` is when the recipient was first deferred;
/// `uncertain_retries`: how often it was uncertain before.
DeliveryTransition after_attempt(SendOutcome outcome, std::int64_t attempt, UtcMillis first_deferred_at,
                                 UtcMillis now, const DeliveryPolicy& policy,
                                 std::int64_t uncertain_retries = 0);

/// How long mail delivery pauses after the transport failed `failures` times in a row: 5 s, doubling, at most
/// kMaxPauseMillis.
std::int64_t pause_millis(std::int64_t failures);

/// How long one gift record waits after its write failed `failures` times: 2 s, doubling, at most
/// kMaxSyncRetryMillis (SYNC-25).
std::int64_t sync_retry_millis(std::int64_t failures);
/// The same after the CRM rejected it: at most kMaxRejectedRetryMillis.
std::int64_t rejected_retry_millis(std::int64_t failures);

/// The size of the next batch after one of `rows` rows that took `millis`, or failed as a whole: half after a
/// slow one or a failure, twice after a quick one, from 1 to `max_rows` (SYNC-67).
std::size_t next_batch_rows(std::size_t rows, std::int64_t millis, bool has_failed, std::size_t max_rows);
inline constexpr std::int64_t kSlowBatchMillis = 10 * kSecondMillis;
inline constexpr std::int64_t kQuickBatchMillis = 2 * kSecondMillis;

/// "mail is paused since 2026-11-21 12:31 UTC by root: wrong item": the pause of all mail by an admin
/// (MAIL-36).
std::string describe(const store::MailPause& pause);

/// Whether an enhanced status code (RFC 3463) says that the address itself is bad: its mailbox or domain is
/// not known, malformed, moved or takes no mail (GUARD-22). A full mailbox or a policy says nothing of the
/// kind.
bool is_bad_address_code(std::string_view code);

// Resets retry times that only a wrong clock can have set. A clock that was ahead leaves retry times
// far in the future. Every retry time beyond the maximum backoff of its rule (sync/mail/delivery_rules.h)
// becomes due now. For retry times of polls see daemon/sources/poll_step.h.

struct ClockSkewRepair {
  bool pause = false;         ///< mail delivery was paused
  std::int64_t mails = 0;     ///< in the mail outbox
  std::int64_t gifts = 0;     ///< in the CRM outbox
  std::int64_t requests = 0;  ///< request records
};

/// Resets them and returns how many there were. Request records are compared with the database's clock:
/// `database_now`, and may rest for as long as RequestRecordRules::most_sender_retry_after_millis. Throws
/// DependencyError when the store fails.
ClockSkewRepair repair_clock_skew(store::Store& store, UtcMillis now, UtcMillis database_now,
                                  std::int64_t most_request_retry_after_millis = kMaxSyncRetryMillis);

/// One sentence for the operator's log; empty when there were none.
std::string describe(const ClockSkewRepair& repaired);

// Many mails that failed with the same reply show a fault of the relay or of its settings (OPS-27).
// Pure.

/// The relay's reply without what differs from mail to mail: addresses, hosts, numbers behind the codes.
std::string reply_class(std::string_view reply);

/// Whether `text` is a part of the reply, in any case, or a reply of the same class.
bool is_reply_like(std::string_view reply, std::string_view text);

/// The beginning of the "reply" of a mail that giftsync did not give to the relay.
inline constexpr std::string_view kNotSent = "not sent: ";

/// A reply that several mails in one state have.
struct SharedReply {
  DeliveryState state = DeliveryState::undelivered;  ///< or `queued`
  std::string reply;                                 ///< of one of them
  std::int64_t mails = 0;
  UtcMillis since;  ///< the earliest of their times
};

/// Undelivered mails that ended before it are not asked for.
inline constexpr std::int64_t kSharedReplyMillis = kHourMillis;

/// The replies, most mails first, that kManyUndelivered mails ended with, or with which kManyDeferred mails
/// wait, the first of them for kLongDeferredMillis.
std::vector<SharedReply> shared_replies(std::span<const store::FailedMail> mails, UtcMillis now);
inline constexpr std::int64_t kManyUndelivered = 10;
inline constexpr std::int64_t kManyDeferred = 3;
inline constexpr std::int64_t kLongDeferredMillis = 10 * kMinuteMillis;

}  // namespace giftsync::sync
