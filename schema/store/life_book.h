// schema/store: the life of a gift after it was sent (design 3.6): what a timer is to look at and when, mails
// that are sent again, reminders, and what was done to a gift apart from its status. What to do is decided by
// the sync room; here it is written in one transaction with what it rests on.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schema/store/change_log.h"
#include "schema/store/delivery_queue.h"
#include "schema/store/gift_ledger.h"

namespace giftsync::schema {

enum class GiftActKind { resent, reminded, cancelled };
std::string_view to_word(GiftActKind kind);

struct GiftAct {
  TransactionId transaction;
  UtcMillis at;
  GiftActKind kind = GiftActKind::resent;
  std::string who;
  std::string remark;  ///< readable
};

/// A gift with all that counts of it, locked while a mail of it is decided about.
struct MailView {
  Gift gift;
  std::vector<ChangeSpan> so_far;
  std::optional<DeliveryRow> mail;  ///< none for a gift that hands out URLs
};

/// One more mail of a gift.
struct MailOrder {
  MailKind kind = MailKind::gift;
  std::string email;  ///< to whom; another address than before raises the links' generation
  bool send = true;   ///< false: only what follows is kept
  std::int64_t reminded_day = 0;
  std::optional<UtcMillis> due_at = std::nullopt;  ///< when a timer is to look at the gift next
  std::optional<GiftAct> act = std::nullopt;
};
/// Pure: it may be asked more than once. Nothing is written when it returns nothing.
using MailDecision = std::function<std::optional<MailOrder>(const MailView&)>;

class LifeBook {
 public:
  explicit LifeBook(std::shared_ptr<sql::Database> database);

  /// Gifts that a timer is to look at by now, the one that has waited longest first.
  std::vector<TransactionId> due(UtcMillis now, std::size_t limit);
  /// When a timer is to look at it next; not over what changed since the gift was read.
  void set_due(const RecipientTransaction& read, std::optional<UtcMillis> due_at);

  /// Puts one more mail of a gift into the outbox. Whoever was about to send the one before finds its lease
  /// gone. False when there is no such gift of ours, or `decide` wants nothing.
  bool order_mail(TransactionId gift, UtcMillis now, const MailDecision& decide);

  /// Of a timer's outcome, to be written with it: a mail that has not left yet is not sent any more. One that
  /// is leaving just now may still arrive. Only if it was not sent again since it was read; a timer is to
  /// look at it next at `due_at`.
  static HandOut withdraw_mail_unless_resent(const RecipientTransaction& read, UtcMillis now,
                                             std::optional<UtcMillis> due_at);
  /// Of what a recipient decides by a link: only while that link is the gift's, which somebody may just be
  /// sending to another address.
  static HandOut while_link_is_good(const RecipientTransaction& read);
  /// Withdraws the mail, and the links are dead from then on.
  static HandOut withdraw_gift(const GiftAct& act);

  /// By the time they were done.
  std::vector<GiftAct> acts_of(TransactionId gift);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::schema
