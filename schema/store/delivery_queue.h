// schema/store: the mail outbox. A mail may be sent twice only when it is unknown whether the first one
// arrived; such rows are `uncertain` (MAIL-5). The order of writes guarantees it: `sending` is durable
// before the mail leaves, and its outcome is durable together with the resulting status change.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/store/change_log.h"
#include "schema/store/gift_requests.h"

namespace giftsync::schema::store {

struct DeliveryClaim {
  TransactionId transaction;
  DeliveryState state =
      DeliveryState::queued;           ///< `sending`: its sender died; ask the transport for the outcome
  std::int64_t attempt = 0;            ///< of the last sending; the next one is attempt + 1
  std::int64_t uncertain_retries = 0;  ///< sendings after an uncertain one
  std::string message_id;              ///< empty before the first sending
  std::optional<platform::UtcMillis> first_deferred_at;  ///< when the recipient's server first deferred it
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;         ///< of the gift's mails: the first, a resend or a reminder
  platform::UtcMillis ordered_at;  ///< of a resend or reminder
};

struct DeliveryOutcome {
  TransactionId transaction;
  std::int64_t attempt = 0;  ///< the attempt of this outcome; stale ones are ignored
  DeliveryState state = DeliveryState::queued;
  platform::UtcMillis next_attempt_at;  ///< for queued and uncertain
  std::string reply;
  bool deferred = false;  ///< the recipient's server deferred it: the one-day limit runs from the first time
  std::optional<StatusChange> change;  ///< delivered or undelivered, accepted in the same transaction
};

struct DeliveryRow {
  TransactionId transaction;
  DeliveryState state = DeliveryState::queued;
  std::int64_t attempt = 0;
  std::int64_t uncertain_retries = 0;
  platform::UtcMillis next_attempt_at;
  platform::UtcMillis updated_at;
  std::string message_id;
  std::string last_reply;
  std::string email;
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;
  platform::UtcMillis ordered_at;  ///< of a resend or reminder
};

/// Delivery is paused: the mail transport failed, no gift is affected.
struct CircuitBreaker {
  platform::UtcMillis since;
  platform::UtcMillis until;
  std::int64_t failures = 0;
  std::string reason;
  std::string relay{};  ///< fingerprint of the settings of the relay that failed
};

class DeliveryQueue {
 public:
  DeliveryQueue(std::shared_ptr<sql::Database> database, ChangeLog& changes);

  std::vector<DeliveryClaim> claim(const std::string& owner, std::int64_t lease_millis, std::size_t limit,
                                   platform::UtcMillis now);
  struct Sending {
    DeliveryClaim claim;
    std::string message_id;
  };
  /// Records that attempt + 1 of each starts now. False for a claim that `owner` no longer has: it must
  /// not be sent.
  std::vector<bool> begin_sending(const std::string& owner, std::span<const Sending> sendings,
                                  std::int64_t lease_millis, platform::UtcMillis now);
  /// Ends attempts. An outcome of an attempt that is no longer current is ignored; returns how many
  /// were saved.
  std::size_t finish(std::span<const DeliveryOutcome> outcomes, platform::UtcMillis now);
  /// Releases claims without a change.
  void release(const std::string& owner, std::span<const DeliveryClaim> claims);
  void release_leases(const std::vector<std::string>& owners);
  /// Of any owner: shortens every lease that runs longer than that.
  void cap_leases(std::int64_t max_millis);
  /// Makes mails due that wait until after `latest`, and moves deferral starts after `latest` to now;
  /// returns how many rows changed.
  std::int64_t reset_scheduled_after(platform::UtcMillis latest, platform::UtcMillis now);

  /// Makes mails due that wait after a deferral: of one gift, or all. An uncertain mail still waits, since an
  /// early repeat may be a second copy. Returns how many.
  std::int64_t retry_deferred(std::optional<TransactionId> transaction, platform::UtcMillis now);

  std::optional<CircuitBreaker> breaker();
  /// `since` of a pause of the same relay stays.
  void open_breaker(const CircuitBreaker& breaker);
  void close_breaker();
  /// Ends a pause that ends after `latest`, so that one mail tests the relay; returns whether there was one.
  bool reset_breaker_after(platform::UtcMillis latest, platform::UtcMillis now);

  std::vector<std::pair<DeliveryState, std::int64_t>> count_by_state();
  std::optional<DeliveryRow> find(TransactionId transaction);
  /// Rows in one of these states, by transaction, at most `limit`.
  std::vector<DeliveryRow> list(const std::vector<DeliveryState>& states, std::size_t limit);

 private:
  std::vector<DeliveryRow> select(const std::string& condition, std::size_t limit);

  std::shared_ptr<sql::Database> database_;
  ChangeLog& changes_;
};

}  // namespace giftsync::schema::store
