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

#include "schema/store/gift/change_log.h"
#include "schema/store/gift/do_not_send.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/statements/audit_log.h"
#include "schema/store/statements/claim_floor.h"
#include "schema/store/statements/mail_turns.h"

namespace giftsync::store {

struct DeliveryClaim {
  TransactionId transaction;
  DeliveryState state =
      DeliveryState::queued;           ///< `sending`: its sender died; ask the transport for the outcome
  std::int64_t attempt = 0;            ///< of the last sending; the next one is attempt + 1
  std::int64_t uncertain_retries = 0;  ///< sendings after an uncertain one
  std::string message_id;              ///< empty before the first sending
  std::optional<UtcMillis> first_deferred_at;  ///< when the recipient's server first deferred it
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;  ///< of the gift's mails: the first, a resend or a reminder
  UtcMillis ordered_at;     ///< of a resend or reminder
  std::int64_t turn = 0;    ///< its place among the mails of all requests; 0: it was tried before
  UtcMillis next_attempt_at;
};

struct DeliveryOutcome {
  TransactionId transaction;
  std::int64_t attempt = 0;  ///< the attempt of this outcome; stale ones change no mail
  DeliveryState state = DeliveryState::queued;
  UtcMillis next_attempt_at;  ///< for queued and uncertain
  std::string reply;
  bool deferred = false;  ///< the recipient's server deferred it: the one-day limit runs from the first time
  std::optional<StatusChange> change;  ///< delivered or undelivered, accepted in the same transaction
  std::optional<DoNotSendEntry> do_not_send =
      {};  ///< of a bad address, added in the same transaction, also of a stale one
};

struct DeliveryRow {
  TransactionId transaction;
  DeliveryState state = DeliveryState::queued;
  std::int64_t attempt = 0;
  std::int64_t uncertain_retries = 0;
  UtcMillis next_attempt_at;
  UtcMillis updated_at;
  std::string message_id;
  std::string last_reply;
  std::string email;
  MailKind kind = MailKind::gift;
  std::int64_t number = 1;
  UtcMillis ordered_at;  ///< of a resend or reminder

  /// Attempts to send the gift's mails, all of them (CON-49): `attempt` also counts each further mail, so
  /// that an outcome of the previous one is not taken for one of the next.
  std::int64_t attempts() const { return attempt - (number - 1); }
};

/// What an operator may do with one mail.
enum class MailAction {
  release,   ///< held: it is sent again with the same Message-ID
  withdraw,  ///< it has not left; one that is being sent may still arrive
  retry,     ///< deferred: it is due now
};

/// A mail as the console lists it.
struct ListedMail {
  TransactionId transaction;  ///< negative: the mail of an approver, or of a sender (is_mail_to_sender)
  DeliveryState state = DeliveryState::queued;
  MailKind kind = MailKind::gift;
  std::int64_t attempts = 0;  ///< DeliveryRow::attempts()
  UtcMillis next_attempt_at;
  UtcMillis updated_at;
  std::string message_id;
  std::string last_reply;    ///< "***" for a masked viewer, as it may name the recipient
  std::string email;         ///< without its local part for a masked viewer
  std::string withdrawn_by;  ///< who withdrew it, or cancelled its gift; empty when no person did
};

/// A mail of the outbox that failed, as shared_replies() reads it.
struct FailedMail {
  DeliveryState state = DeliveryState::undelivered;  ///< or `queued`
  std::string reply;
  UtcMillis since;  ///< when it ended, or was first deferred or refused
};

/// One daemon's delivery is paused: its mail transport failed, no gift is affected.
struct CircuitBreaker {
  UtcMillis since;
  UtcMillis until;
  std::int64_t failures = 0;
  std::string reason;
  std::string relay{};   ///< fingerprint of the settings of the relay that failed
  std::string daemon{};  ///< whose delivery is paused: host and address
};

class DeliveryQueue {
 public:
  DeliveryQueue(std::shared_ptr<sql::Database> database, ChangeLog& changes, MailTurns& turns);

  /// Claims due mails in the order in which they should be sent. Requests take turns, and a mail that was
  /// tried before has at most half of the places while mails of new requests wait (MAIL-29).
  std::vector<DeliveryClaim> claim(const std::string& owner, std::int64_t lease_millis, std::size_t limit,
                                   UtcMillis now);
  /// Reads where the turns of new requests begin (MAIL-29), once a second at most; to be called also while
  /// delivery is paused.
  void refresh_turns(UtcMillis now) { turns_.refresh(now); }
  struct Sending {
    DeliveryClaim claim;
    std::string message_id;
  };
  /// Records that attempt + 1 of each starts now. False for a claim that `owner` no longer has: it must
  /// not be sent.
  std::vector<bool> begin_sending(const std::string& owner, std::span<const Sending> sendings,
                                  std::int64_t lease_millis, UtcMillis now);
  /// Ends attempts. An outcome of an attempt that is no longer current is ignored; returns how many
  /// were saved.
  std::size_t finish(std::span<const DeliveryOutcome> outcomes, UtcMillis now);
  /// Attempts that begin now.
  struct AttemptStart {
    std::string owner;
    std::vector<Sending> sendings;
    std::int64_t lease_millis = 0;
  };
  /// finish() and begin_sending() in one transaction; returns what begin_sending() returns.
  std::vector<bool> finish_and_begin(std::span<const DeliveryOutcome> outcomes, const AttemptStart& beginning,
                                     UtcMillis now);
  /// Releases claims without a change.
  void release(const std::string& owner, std::span<const DeliveryClaim> claims);
  void release_leases(const std::vector<std::string>& owners);
  /// Shortens every lease that runs longer than that, of any owner.
  void cap_leases(std::int64_t max_millis);
  /// Makes mails due that wait until after `latest`, and moves deferral starts after `latest` to now;
  /// returns how many rows changed.
  std::int64_t reset_scheduled_after(UtcMillis latest, UtcMillis now);

  /// Makes mails due that wait after a deferral: of one gift, or all. An uncertain mail still waits, since an
  /// early repeat may be a second copy. Returns how many. Adds the event with that number behind its detail,
  /// if there are any, in the same transaction: of all in that of each batch of 20,000 mails.
  std::int64_t retry_deferred(std::optional<TransactionId> transaction, UtcMillis now,
                              const std::optional<AuditEvent>& audit = {});
  /// Does it with the mail and inserts the event; of a gift's mail an action of the gift by the event's actor
  /// too, with what the mail was until then unless it is only made due (CON-60). False, without a change,
  /// when the mail's state does not allow it.
  bool apply(TransactionId transaction, MailAction action, const AuditEvent& audit, UtcMillis now);

  std::optional<CircuitBreaker> breaker(const std::string& daemon);
  /// The pauses of all daemons, the longest first.
  std::vector<CircuitBreaker> breakers();
  /// `since` of a pause of the same daemon and relay stays.
  void open_breaker(const CircuitBreaker& breaker);
  /// `long_pause_ended_at`: when the daemon's last long pause ended, for after a restart; 0: none did.
  void close_breaker(const std::string& daemon, UtcMillis long_pause_ended_at);
  UtcMillis long_pause_ended_at(const std::string& daemon);
  /// Ends the pauses that end after `latest`, so that each daemon tests its relay, and adds the event with
  /// their number; returns whether there was one.
  bool reset_breakers_after(UtcMillis latest, UtcMillis now, const std::optional<AuditEvent>& audit = {});
  /// Deletes the pauses that ended before `before`: their daemons are gone, or have no mail.
  void delete_breakers_before(UtcMillis before);

  /// The mails in each of `states`; a count above kMaxCounted (bounded_count.h) means more than that.
  std::vector<std::pair<DeliveryState, std::int64_t>> count_by_state(
      std::span<const DeliveryState> states = kAllDeliveryStates);
  /// Whether there is a mail of any kind.
  bool has_any(DeliveryState state);
  std::optional<DeliveryRow> find(TransactionId transaction);
  /// Mails in one of these states, by transaction, at most `limit`; those of senders and approvers come
  /// first.
  std::vector<DeliveryRow> list(const std::vector<DeliveryState>& states, std::size_t limit);
  /// The mails of gifts that the viewer sees, by descending transaction, below `before`. Those of approvers
  /// and senders are listed for viewers of all organizations.
  std::vector<ListedMail> list(const Viewer& viewer, DeliveryState state, std::optional<TransactionId> before,
                               std::size_t limit);
  /// The mails of those gifts, of any state, as the other list() has them; one statement.
  std::vector<ListedMail> list(const Viewer& viewer, std::span<const TransactionId> gifts);
  /// The last 10,000 mails of gifts that ended undelivered since then, and as many that wait after a
  /// deferral.
  std::vector<FailedMail> failed_mails(UtcMillis undelivered_since);
  /// Since when the mail waits that is due the longest; nothing when none is due. No mail of a
  /// test gift.
  std::optional<UtcMillis> oldest_due(UtcMillis now);

 private:
  std::optional<UtcMillis> find_retry_floor(UtcMillis now);
  std::vector<DeliveryRow> select(const std::string& condition, std::size_t limit);
  std::vector<StatusChange> changes_with_ids(std::span<const DeliveryOutcome> outcomes);
  std::size_t store_outcomes(soci::session& session, std::span<const DeliveryOutcome> outcomes,
                             std::span<const StatusChange> changes, UtcMillis now);

  std::shared_ptr<sql::Database> database_;
  ChangeLog& changes_;
  MailTurns& turns_;
  ClaimLowerBound retry_floor_;
};

}  // namespace giftsync::store
