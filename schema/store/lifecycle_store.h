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

#include "schema/store/change_log.h"
#include "schema/store/delivery_queue.h"
#include "schema/store/gift_action.h"
#include "schema/store/gift_requests.h"

namespace giftsync::schema::store {

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
  std::optional<platform::UtcMillis> due_at = std::nullopt;  ///< when a timer next checks the gift
  std::optional<GiftAction> action = std::nullopt;
};
/// Pure: it may be called more than once. Nothing is written when it returns nothing.
using MailPolicy = std::function<std::optional<MailOrder>(const MailContext&)>;

class LifecycleStore {
 public:
  explicit LifecycleStore(std::shared_ptr<sql::Database> database);

  /// Gifts that are due for a timer by now, the longest due first.
  std::vector<TransactionId> find_due(platform::UtcMillis now, std::size_t limit);
  /// Sets when a timer next checks the gift, unless the gift changed since it was read.
  void set_next_timer(const RecipientTransaction& read, std::optional<platform::UtcMillis> due_at);

  /// Puts a further mail of a gift into the outbox. A sender of the previous mail loses its lease.
  /// False when giftsync has no such gift of its own, or `decide` returns nothing.
  bool enqueue_mail(TransactionId gift, platform::UtcMillis now, const MailPolicy& decide);

  /// Part of a timer's outcome, written with it: withdraws a mail that has not left yet; one that is
  /// being sent may still arrive. Applies only if the gift was not resent since it was read; a timer
  /// next checks it at `due_at`.
  static TransactionEffect withdraw_mail_unless_resent_effect(const RecipientTransaction& read,
                                                              platform::UtcMillis now,
                                                              std::optional<platform::UtcMillis> due_at);
  /// Part of a recipient's decision: applies only while the link is the gift's current one. A resend to
  /// another address may have replaced it.
  static TransactionEffect require_current_link_effect(const RecipientTransaction& read);
  /// Withdraws the mail and invalidates the links.
  static TransactionEffect withdraw_gift_effect(const GiftAction& action);

  /// In chronological order.
  std::vector<GiftAction> find_actions(TransactionId gift);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema::store
