#include "sync/lifecycle_step.h"

#include <unordered_map>

#include "sync/conditional_outcome.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::sync {
namespace {

class DueGiftsStep {
 public:
  DueGiftsStep(schema::store::Store& store, platform::UtcMillis now) : store_(store), now_(now) {}

  LifecycleStepStats run(std::size_t limit) {
    const std::vector<schema::TransactionId> ids = store_.lifecycle.find_due(now_, limit);
    stats_.more = ids.size() == limit;
    if (ids.empty()) return stats_;
    std::unordered_map<schema::TransactionId, std::vector<schema::store::ChangeSpan>> spans;
    for (const schema::store::ChangeSpan& span : store_.changes.spans_of(ids))
      spans[span.transaction].push_back(span);
    for (const schema::store::Gift& gift : store_.gifts.find(ids)) {
      // Not the state in the gift's row: changes accepted a moment ago, also by this step, are not folded
      // yet.
      process_gift(gift, fold(*gift.transaction.times[schema::Status::sent], spans[gift.transaction.id]));
    }
    return stats_;
  }

 private:
  void process_gift(const schema::store::Gift& gift, const FoldedStatus& state) {
    const auto terms = parse_terms(gift.request.terms);
    if (!terms) return store_.lifecycle.set_next_timer(gift.transaction, std::nullopt);
    const auto outcome = next_outcome(*terms, state, gift.transaction.resent_at);
    if (outcome && outcome->at <= now_) return apply_outcome(gift, state, *outcome);
    const auto reminder = next_reminder(*terms, gift.request.mode, state, gift.transaction.resent_at,
                                        gift.transaction.last_reminder_day, now_);
    if (reminder && reminder->at <= now_) return remind(gift);
    store_.lifecycle.set_next_timer(gift.transaction, next_timer_at(gift, state));
  }

  void apply_outcome(const schema::store::Gift& gift, const FoldedStatus& before, const DueOutcome& due) {
    const schema::store::StatusChange change{{},   "timer", gift.transaction.id, due.status, due.at,
                                             now_, {},      due.premise};
    // If another change is accepted meanwhile, its fold corrects this.
    const auto next = next_timer_at(gift, with_outcome(before, due));
    const OutcomeResult decided = apply_conditional_outcome(
        store_.changes, change,
        schema::store::LifecycleStore::withdraw_mail_unless_resent_effect(gift.transaction, now_, next));
    switch (decided.outcome) {
      case schema::store::ConditionalOutcome::accepted:
        ++(due.status == schema::Status::expired ? stats_.expired : stats_.refunded);
        stats_.more = stats_.more || (next && *next <= now_);
        break;
      case schema::store::ConditionalOutcome::effect_unavailable:
        break;  // it was sent again; evaluate it once more
      case schema::store::ConditionalOutcome::refused:
      case schema::store::ConditionalOutcome::unknown_transaction:
        handle_refused_outcome(gift, decided.state, due);
        break;
    }
  }

  /// The gift's state after that outcome.
  static FoldedStatus with_outcome(FoldedStatus state, const DueOutcome& due) {
    state.status = due.status;
    state.times[due.status] = due.at;
    return state;
  }

  /// An outcome that was refused and would be due again at once waits until another change of the gift.
  void handle_refused_outcome(const schema::store::Gift& gift, const FoldedStatus& state,
                              const DueOutcome& refused) {
    const auto terms = parse_terms(gift.request.terms);
    const bool is_same_outcome = next_outcome(*terms, state, gift.transaction.resent_at) == refused;
    if (!is_same_outcome)
      return store_.lifecycle.set_next_timer(gift.transaction, next_timer_at(gift, state));
    const auto alternative = alternative_outcome(*terms, state, gift.transaction.resent_at, refused);
    if (alternative && alternative->at <= now_) return apply_outcome(gift, state, *alternative);
    store_.lifecycle.set_next_timer(gift.transaction,
                                    alternative ? std::optional(alternative->at) : std::nullopt);
  }

  /// Decided under the gift's lock, so that only one of two daemons reminds. The gift's own mail must have
  /// been delivered by then; else that day is skipped.
  void remind(const schema::store::Gift& gift) {
    bool is_sent = false;
    store_.lifecycle.enqueue_mail(gift.transaction.id, now_, [&](const schema::store::MailContext& view) {
      is_sent = false;
      return make_reminder_order(view, is_sent);
    });
    if (is_sent) ++stats_.reminded;
  }

  std::optional<schema::store::MailOrder> make_reminder_order(const schema::store::MailContext& view,
                                                              bool& is_sent) const {
    const schema::store::RecipientTransaction& transaction = view.gift.transaction;
    const FoldedStatus state = fold(*transaction.times[schema::Status::sent], view.changes);
    schema::store::MailOrder order{schema::MailKind::reminder, transaction.email, false,
                                   transaction.last_reminder_day};
    const auto reminder = next_reminder(*parse_terms(view.gift.request.terms), view.gift.request.mode, state,
                                        transaction.resent_at, transaction.last_reminder_day, now_);
    schema::store::Gift after = view.gift;
    if (reminder && reminder->at <= now_) {
      order.last_reminder_day = after.transaction.last_reminder_day = reminder->day;
      order.send = view.mail && view.mail->state == schema::DeliveryState::accepted;
      if (order.send)
        order.action =
            schema::store::GiftAction{transaction.id, now_, schema::store::GiftActionKind::reminded, "timer",
                                      "of day " + std::to_string(reminder->day)};
    }
    order.due_at = next_timer_at(after, state);
    is_sent = order.send;
    return order;
  }

  schema::store::Store& store_;
  const platform::UtcMillis now_;
  LifecycleStepStats stats_;
};

}  // namespace

LifecycleStepStats lifecycle_step(schema::store::Store& store, platform::UtcMillis now, std::size_t limit) {
  return DueGiftsStep(store, now).run(limit);
}

}  // namespace giftsync::sync
