#include "sync/gift/lifecycle_step.h"

#include <algorithm>

#include "sync/gift/lifecycle_rules.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {

using store::TimerRun;

/// How long a gift waits whose timer the store refuses.
constexpr std::int64_t kRefusedTimerMillis = kHourMillis;

store::TimerPolicy policy_at(UtcMillis now) {
  return [now](const store::DueGift& due, std::span<const store::StatusChange> refused) {
    return decide_timer(due, refused, now);
  };
}

void add(LifecycleStepStats& stats, const TimerRun& run, UtcMillis now) {
  for (const store::TimerDecision& decision : run.decisions) {
    if (decision.outcome) ++(decision.outcome->status == Status::expired ? stats.expired : stats.refunded);
    if (decision.reminder) ++stats.reminded;
    stats.more = stats.more || (decision.due_at && *decision.due_at <= now);
  }
}

/// One gift after the other, so that a gift that the store refuses does not hold up the others.
LifecycleStepStats process_singly(store::Store& store, UtcMillis now, std::size_t limit) {
  LifecycleStepStats stats;
  const std::vector<TransactionId> ids = store.lifecycle.find_due(now, limit);
  stats.more = ids.size() == limit;
  for (const TransactionId id : ids) {
    try {
      add(stats, store.lifecycle.decide_due_gift(id, now, policy_at(now)), now);
    } catch (const DependencyError& fault) {
      if (fault.transient()) throw;
      store.lifecycle.postpone_timer(id, now, now + kRefusedTimerMillis);
      stats.warnings.push_back("the timer of gift " + std::to_string(id.value) +
                               " cannot be applied and is tried again in an hour: " + fault.what());
    }
  }
  return stats;
}

}  // namespace

LifecycleStepStats lifecycle_step(store::Store& store, UtcMillis now, std::size_t limit) {
  try {
    const TimerRun run = store.lifecycle.decide_due(now, limit, policy_at(now));
    LifecycleStepStats stats;
    stats.more = run.gifts == limit;
    add(stats, run, now);
    return stats;
  } catch (const DependencyError& fault) {
    if (fault.transient()) throw;
    return process_singly(store, now, limit);
  }
}

namespace {

using store::StatusChange;
using store::TimerDecision;

StatusChange change_of(const store::Gift& gift, const DueOutcome& outcome, UtcMillis now) {
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

TimerDecision apply(const store::Gift& gift, const FoldedStatus& state, const DueOutcome& outcome,
                    UtcMillis now) {
  TimerDecision decision;
  decision.outcome = change_of(gift, outcome, now);
  // If another change is accepted meanwhile, its fold corrects this.
  decision.due_at = next_timer_at(gift, with_outcome(state, outcome));
  return decision;
}

/// The gift's own mail must have been delivered by then; else that day is skipped.
TimerDecision remind(const store::DueGift& due, const FoldedStatus& state, const DueReminder& reminder,
                     UtcMillis now) {
  store::Gift after = due.gift;
  after.transaction.last_reminder_day = reminder.day;
  TimerDecision decision;
  decision.last_reminder_day = reminder.day;
  decision.due_at = next_timer_at(after, state);
  if (due.mail == DeliveryState::accepted)
    decision.reminder = store::GiftAction{due.gift.transaction.id, now, store::GiftActionKind::reminded,
                                          "timer", "of day " + std::to_string(reminder.day)};
  return decision;
}

}  // namespace

TimerDecision decide_timer(const store::DueGift& due, std::span<const StatusChange> refused, UtcMillis now) {
  const store::RecipientTransaction& transaction = due.gift.transaction;
  const auto terms = parse_terms(due.gift.request.terms);
  if (!terms || !transaction.gift_source.empty()) return {};
  // Not the state in the gift's row: changes accepted a moment ago are not folded yet.
  const FoldedStatus state = fold(*transaction.times[Status::sent], due.changes);
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
