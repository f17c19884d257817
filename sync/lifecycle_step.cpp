#include "sync/lifecycle_step.h"

#include <unordered_map>

#include "sync/decided_outcome.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::sync {
namespace {

using schema::Gift;
using schema::Status;
using schema::UtcMillis;

class Round {
 public:
  Round(schema::Store& store, UtcMillis now) : store_(store), now_(now) {}

  LifecycleReport run(std::size_t limit) {
    const std::vector<schema::TransactionId> ids = store_.life.due(now_, limit);
    report_.more = ids.size() == limit;
    if (ids.empty()) return report_;
    std::unordered_map<schema::TransactionId, std::vector<schema::ChangeSpan>> spans;
    for (const schema::ChangeSpan& span : store_.changes.spans_of(ids))
      spans[span.transaction].push_back(span);
    for (const Gift& gift : store_.gifts.gifts(ids)) {
      // Not as the gift's row has it: what was accepted a moment ago, by this very loop too, is not there
      // yet.
      look_at(gift, fold(*gift.transaction.times[Status::sent], spans[gift.transaction.id]));
    }
    return report_;
  }

 private:
  void look_at(const Gift& gift, const FoldedStatus& state) {
    const auto terms = terms_from_text(gift.request.terms);
    if (!terms) return store_.life.set_due(gift.transaction, std::nullopt);
    const auto outcome = next_outcome(*terms, state, gift.transaction.resent_at);
    if (outcome && outcome->at <= now_) return decide(gift, state, *outcome);
    const auto reminder = next_reminder(*terms, gift.request.mode, state, gift.transaction.resent_at,
                                        gift.transaction.reminded_day, now_);
    if (reminder && reminder->at <= now_) return remind(gift);
    store_.life.set_due(gift.transaction, next_look(gift, state));
  }

  void decide(const Gift& gift, const FoldedStatus& before, const DueOutcome& due) {
    const schema::StatusChange change{{},   "timer", gift.transaction.id, due.status, due.at,
                                      now_, {},      due.premise};
    // Should something else be accepted meanwhile, its fold puts this right.
    const auto next = next_look(gift, with(before, due));
    const Decided decided = decide_outcome(
        store_.changes, change, schema::LifeBook::withdraw_mail_unless_resent(gift.transaction, now_, next));
    switch (decided.outcome) {
      case schema::DecidedOutcome::accepted:
        ++(due.status == Status::expired ? report_.expired : report_.refunded);
        report_.more = report_.more || (next && *next <= now_);
        break;
      case schema::DecidedOutcome::nothing_to_hand_out:
        break;  // sent again just now: it is looked at once more
      case schema::DecidedOutcome::refused:
      case schema::DecidedOutcome::unknown_transaction:
        go_on_after(gift, decided.stands, due);
        break;
    }
  }

  /// How the gift stands once that has come true.
  static FoldedStatus with(FoldedStatus state, const DueOutcome& due) {
    state.status = due.status;
    state.times[due.status] = due.at;
    return state;
  }

  /// What was refused and would be due again at once rests until something else happens to the gift.
  void go_on_after(const Gift& gift, const FoldedStatus& stands, const DueOutcome& refused) {
    const auto terms = terms_from_text(gift.request.terms);
    const bool is_over_with = next_outcome(*terms, stands, gift.transaction.resent_at) == refused;
    if (!is_over_with) return store_.life.set_due(gift.transaction, next_look(gift, stands));
    const auto instead = outcome_instead(*terms, stands, gift.transaction.resent_at, refused);
    if (instead && instead->at <= now_) return decide(gift, stands, *instead);
    store_.life.set_due(gift.transaction, instead ? std::optional(instead->at) : std::nullopt);
  }

  /// Decided under the gift's lock, so that of two daemons one reminds. The recipient must have the mail of
  /// the gift itself by then; else that day passes.
  void remind(const Gift& gift) {
    bool is_sent = false;
    store_.life.order_mail(gift.transaction.id, now_, [&](const schema::MailView& view) {
      is_sent = false;
      return reminder_order(view, is_sent);
    });
    if (is_sent) ++report_.reminded;
  }

  std::optional<schema::MailOrder> reminder_order(const schema::MailView& view, bool& is_sent) const {
    const schema::RecipientTransaction& transaction = view.gift.transaction;
    const FoldedStatus state = fold(*transaction.times[Status::sent], view.so_far);
    schema::MailOrder order{schema::MailKind::reminder, transaction.email, false, transaction.reminded_day};
    const auto reminder = next_reminder(*terms_from_text(view.gift.request.terms), view.gift.request.mode,
                                        state, transaction.resent_at, transaction.reminded_day, now_);
    Gift after = view.gift;
    if (reminder && reminder->at <= now_) {
      order.reminded_day = after.transaction.reminded_day = reminder->day;
      order.send = view.mail && view.mail->state == schema::DeliveryState::accepted;
      if (order.send)
        order.act = schema::GiftAct{transaction.id, now_, schema::GiftActKind::reminded, "timer",
                                    "of day " + std::to_string(reminder->day)};
    }
    order.due_at = next_look(after, state);
    is_sent = order.send;
    return order;
  }

  schema::Store& store_;
  const UtcMillis now_;
  LifecycleReport report_;
};

}  // namespace

LifecycleReport lifecycle_step(schema::Store& store, UtcMillis now, std::size_t limit) {
  return Round(store, now).run(limit);
}

}  // namespace giftsync::sync
