#include "sync/timer_decision.h"

#include <algorithm>

#include "sync/conditional_outcome.h"
#include "sync/lifecycle_rules.h"

namespace giftsync::sync {
namespace {

using schema::store::StatusChange;
using schema::store::TimerDecision;

StatusChange change_of(const schema::store::Gift& gift, const DueOutcome& outcome, platform::UtcMillis now) {
  return {{}, "timer", gift.transaction.id, outcome.status, outcome.at, now, {}, outcome.premise};
}

bool is_among(std::span<const StatusChange> refused, const DueOutcome& outcome) {
  return std::any_of(refused.begin(), refused.end(), [&](const StatusChange& one) {
    return DueOutcome{one.status, one.premise, one.occurred_at} == outcome;
  });
}

/// The gift's state after that outcome.
FoldedStatus with_outcome(FoldedStatus state, const DueOutcome& due) {
  state.status = due.status;
  state.times[due.status] = due.at;
  return state;
}

TimerDecision apply(const schema::store::Gift& gift, const FoldedStatus& state, const DueOutcome& outcome,
                    platform::UtcMillis now) {
  TimerDecision decision;
  decision.outcome = change_of(gift, outcome, now);
  // If another change is accepted meanwhile, its fold corrects this.
  decision.due_at = next_timer_at(gift, with_outcome(state, outcome));
  return decision;
}

/// The gift's own mail must have been delivered by then; else that day is skipped.
TimerDecision remind(const schema::store::DueGift& due, const FoldedStatus& state,
                     const DueReminder& reminder, platform::UtcMillis now) {
  schema::store::Gift after = due.gift;
  after.transaction.last_reminder_day = reminder.day;
  TimerDecision decision;
  decision.last_reminder_day = reminder.day;
  decision.due_at = next_timer_at(after, state);
  if (due.mail == schema::DeliveryState::accepted)
    decision.reminder =
        schema::store::GiftAction{due.gift.transaction.id, now, schema::store::GiftActionKind::reminded,
                                  "timer", "of day " + std::to_string(reminder.day)};
  return decision;
}

}  // namespace

TimerDecision decide_timer(const schema::store::DueGift& due, std::span<const StatusChange> refused,
                           platform::UtcMillis now) {
  const schema::store::RecipientTransaction& transaction = due.gift.transaction;
  const auto terms = parse_terms(due.gift.request.terms);
  if (!terms || !transaction.gift_source.empty()) return {};
  // Not the state in the gift's row: changes accepted a moment ago are not folded yet.
  const FoldedStatus state = fold(*transaction.times[schema::Status::sent], due.changes);
  const auto is_possible = [&](const DueOutcome& outcome) {
    return !is_among(refused, outcome) && allows(state, change_of(due.gift, outcome, now));
  };
  const auto next = next_outcome(*terms, state, transaction.resent_at);
  if (!next) return {};
  if (next->at <= now) {
    if (is_possible(*next)) return apply(due.gift, state, *next, now);
    const auto other = alternative_outcome(*terms, state, transaction.resent_at, *next);
    if (!other || !is_possible(*other)) return {};
    if (other->at <= now) return apply(due.gift, state, *other, now);
    TimerDecision later;
    later.due_at = other->at;
    return later;
  }
  const auto reminder = next_reminder(*terms, due.gift.request.mode, state, transaction.resent_at,
                                      transaction.last_reminder_day, now);
  if (reminder && reminder->at <= now) return remind(due, state, *reminder, now);
  TimerDecision later;
  later.due_at = next_timer_at(due.gift, state);
  return later;
}

}  // namespace giftsync::sync
