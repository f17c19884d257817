// schema/store: the lifecycle of a gift after its sending (LIFE-11): due timers, resends, reminders, and
// actions that are not status changes. The sync folder decides; this class writes the decision in one
// transaction with the state that it depends on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/store/gift/change_log.h"
#include "schema/store/gift/gift_action.h"
#include "schema/store/gift/gift_requests.h"
#include "schema/store/mail/delivery_queue.h"
#include "schema/store/statements/audit_log.h"
#include "schema/store/statements/claim_floor.h"

namespace giftsync::store {

/// A gift with all its counting changes, locked during the decision about one of its mails.
struct MailContext {
  Gift gift;
  std::vector<ChangeSpan> changes;
  std::optional<DeliveryRow> mail;  ///< none for a gift whose URLs were returned
};

/// A further mail of a gift.
struct MailOrder {
  MailKind kind = MailKind::gift;
  std::string email;  ///< the recipient's address; an address change raises the links' generation
  bool send = true;   ///< false: only the following fields are saved
  std::int64_t last_reminder_day = 0;
  std::optional<UtcMillis> due_at = std::nullopt;          ///< when a timer next checks the gift
  std::optional<UtcMillis> extended_until = std::nullopt;  ///< saved if set
  std::optional<GiftAction> action = std::nullopt;
  std::optional<AuditEvent> audit = std::nullopt;
};
/// Pure: it may be called more than once. Nothing is written when it returns nothing.
using MailPolicy = std::function<std::optional<MailOrder>(const MailContext&)>;

/// A gift with all its counting changes, locked during a timer's decision.
struct DueGift {
  Gift gift;
  std::vector<ChangeSpan> changes;
  std::optional<DeliveryState> mail;  ///< of its latest mail; none for a gift whose URLs were returned
};

/// What a timer decides about one gift.
struct TimerDecision {
  /// Accepted, and the gift's mail is withdrawn if it has not left yet; one that is being sent may still
  /// arrive.
  std::optional<StatusChange> outcome = std::nullopt;
  /// Puts a reminder into the outbox, and is saved as its action.
  std::optional<GiftAction> reminder = std::nullopt;
  std::optional<std::int64_t> last_reminder_day = std::nullopt;  ///< saved if set
  std::optional<UtcMillis> due_at = std::nullopt;                ///< when a timer next checks the gift
};
/// Pure: it may be called more than once. `refused`: the outcomes of that gift that an admin voided; the
/// log does not accept them again.
using TimerPolicy = std::function<TimerDecision(const DueGift& gift, std::span<const StatusChange> refused)>;

struct TimerRun {
  std::size_t gifts = 0;                 ///< about how many it was decided
  std::vector<TimerDecision> decisions;  ///< the written ones
};

class LifecycleStore {
 public:
  LifecycleStore(std::shared_ptr<sql::Database> database, ChangeLog& changes);

  /// Gifts that are due for a timer by now, the longest due first.
  std::vector<TransactionId> find_due(UtcMillis now, std::size_t limit);
  /// Locks at most `limit` due gifts, decides about all of them and writes all decisions, in one
  /// transaction. Gifts that another transaction has locked are left out (PostgreSQL), so that several
  /// daemons share the work (LIFE-9). When it fails nothing is written. Gifts stay due or become due
  /// again where the decision says so.
  TimerRun decide_due(UtcMillis now, std::size_t limit, const TimerPolicy& decide);
  /// The same for one gift, which nothing happens to unless it is due and unlocked.
  TimerRun decide_due_gift(TransactionId gift, UtcMillis now, const TimerPolicy& decide);
  /// The timer of a due gift checks it at `until` instead.
  void postpone_timer(TransactionId gift, UtcMillis now, UtcMillis until);

  /// Puts a further mail of a gift into the outbox. A sender of the previous mail loses its lease.
  /// False when giftsync has no such gift of its own, or `decide` returns nothing.
  bool enqueue_mail(TransactionId gift, UtcMillis now, const MailPolicy& decide);

  /// Part of a recipient's decision: applies only while the link is the gift's current one. A resend to
  /// another address may have replaced it.
  static TransactionEffect require_current_link_effect(const RecipientTransaction& read);
  /// Withdraws the mail and invalidates the links; keeps what the mail was (CON-60) and adds the event.
  TransactionEffect withdraw_gift_effect(const GiftAction& action,
                                         const std::optional<AuditEvent>& audit = {});

  /// In chronological order.
  std::vector<GiftAction> find_actions(TransactionId gift);

 private:
  /// `which`: the gifts, as the end of a SELECT over recipient_transaction, with :now and `values`.
  TimerRun decide_about(const std::string& which, UtcMillis now, std::size_t count,
                        const TimerPolicy& decide);

  std::shared_ptr<sql::Database> database_;
  ChangeLog& changes_;
  ClaimLowerBound floor_;
};

}  // namespace giftsync::store
