// schema/store: the outbox. A mail may go out twice only when nobody knows whether the first one arrived, and
// such rows are `uncertain` (design 3.5). The order of writes is the promise: `sending` is durable before the
// mail leaves, its outcome is durable together with the status change it means.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schema/store/change_log.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::schema {

struct DeliveryClaim {
  TransactionId transaction;
  DeliveryState state =
      DeliveryState::queued;              ///< `sending`: its sender died; ask the transport what it knows
  std::int64_t attempt = 0;               ///< of the last sending; the next one is attempt + 1
  std::int64_t repeats = 0;               ///< sendings after an uncertain one
  std::string message_id;                 ///< empty before the first sending
  std::optional<UtcMillis> first_try_at;  ///< when the recipient's server first said "later"
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;  ///< of the gift's mails: the first, or one that was sent again, or a reminder
  UtcMillis ordered_at;     ///< of a further one
};

struct DeliveryOutcome {
  TransactionId transaction;
  std::int64_t attempt = 0;  ///< the attempt that it is the outcome of; stale ones are ignored
  DeliveryState state = DeliveryState::queued;
  UtcMillis due_at;  ///< of the next try, for queued and uncertain
  std::string reply;
  bool deferred =
      false;  ///< the recipient's server said "later": its day of patience runs from the first time
  std::optional<StatusChange> change;  ///< delivered or undelivered, accepted in the same transaction
};

struct DeliveryRow {
  TransactionId transaction;
  DeliveryState state = DeliveryState::queued;
  std::int64_t attempt = 0;
  std::int64_t repeats = 0;
  UtcMillis due_at;
  UtcMillis updated_at;
  std::string message_id;
  std::string last_reply;
  std::string email;
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;
};

/// The outbox rests: the transport is at fault, nobody's gift is.
struct DeliveryPause {
  UtcMillis since;
  UtcMillis until;
  std::int64_t failures = 0;
  std::string reason;
};

class DeliveryQueue {
 public:
  DeliveryQueue(std::shared_ptr<sql::Database> database, ChangeLog& changes);

  std::vector<DeliveryClaim> claim(const std::string& owner, std::int64_t lease_millis, std::size_t limit,
                                   UtcMillis now);
  struct Sending {
    DeliveryClaim claim;
    std::string message_id;
  };
  /// Writes that attempt + 1 of each begins now. False for a claim that is no longer `owner`'s: it must not
  /// be sent.
  std::vector<bool> begin_sending(const std::string& owner, std::span<const Sending> sendings,
                                  std::int64_t lease_millis, UtcMillis now);
  /// Ends attempts. An outcome whose attempt is not the row's any more is ignored; returns how many were
  /// kept.
  std::size_t finish(std::span<const DeliveryOutcome> outcomes, UtcMillis now);
  /// Gives claims back untouched.
  void release(const std::string& owner, std::span<const DeliveryClaim> claims);
  void break_leases(const std::string& owner);
  /// Anybody's: none runs for longer than that from now on.
  void cut_leases(std::int64_t longest_millis);
  /// Mails that wait until after `latest` are due now, and a patience with the recipient that was to begin
  /// later begins now; returns how many those were.
  std::int64_t end_waits_beyond(UtcMillis latest, UtcMillis now);

  std::optional<DeliveryPause> pause();
  void set_pause(const DeliveryPause& pause);
  void clear_pause();
  /// A pause that ends after `latest` ends now; returns whether there was one.
  bool end_pause_beyond(UtcMillis latest, UtcMillis now);

  std::vector<std::pair<DeliveryState, std::int64_t>> counts();
  std::optional<DeliveryRow> row(TransactionId transaction);
  /// Rows in one of these states, by transaction, at most `limit`.
  std::vector<DeliveryRow> rows(const std::vector<DeliveryState>& states, std::size_t limit);

 private:
  std::vector<DeliveryRow> select(const std::string& condition, std::size_t limit);

  std::shared_ptr<sql::Database> database_;
  ChangeLog& changes_;
};

}  // namespace giftsync::schema
