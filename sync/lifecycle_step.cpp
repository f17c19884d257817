#include "sync/lifecycle_step.h"

#include "sync/timer_decision.h"

namespace giftsync::sync {
namespace {

using schema::store::TimerRun;

/// How long a gift waits whose timer the store refuses.
constexpr std::int64_t kRefusedTimerMillis = platform::kHourMillis;

schema::store::TimerPolicy policy_at(platform::UtcMillis now) {
  return [now](const schema::store::DueGift& due, std::span<const schema::store::StatusChange> refused) {
    return decide_timer(due, refused, now);
  };
}

void add(LifecycleStepStats& stats, const TimerRun& run, platform::UtcMillis now) {
  for (const schema::store::TimerDecision& decision : run.decisions) {
    if (decision.outcome)
      ++(decision.outcome->status == schema::Status::expired ? stats.expired : stats.refunded);
    if (decision.reminder) ++stats.reminded;
    stats.more = stats.more || (decision.due_at && *decision.due_at <= now);
  }
}

/// One gift after the other, so that a gift that the store refuses does not hold up the others.
LifecycleStepStats process_singly(schema::store::Store& store, platform::UtcMillis now, std::size_t limit) {
  LifecycleStepStats stats;
  const std::vector<schema::TransactionId> ids = store.lifecycle.find_due(now, limit);
  stats.more = ids.size() == limit;
  for (const schema::TransactionId id : ids) {
    try {
      add(stats, store.lifecycle.decide_due_gift(id, now, policy_at(now)), now);
    } catch (const platform::DependencyError& fault) {
      if (fault.transient()) throw;
      store.lifecycle.postpone_timer(id, now, now + kRefusedTimerMillis);
      stats.warnings.push_back("the timer of gift " + std::to_string(id.value) +
                               " cannot be applied and is tried again in an hour: " + fault.what());
    }
  }
  return stats;
}

}  // namespace

LifecycleStepStats lifecycle_step(schema::store::Store& store, platform::UtcMillis now, std::size_t limit) {
  try {
    const TimerRun run = store.lifecycle.decide_due(now, limit, policy_at(now));
    LifecycleStepStats stats;
    stats.more = run.gifts == limit;
    add(stats, run, now);
    return stats;
  } catch (const platform::DependencyError& fault) {
    if (fault.transient()) throw;
    return process_singly(store, now, limit);
  }
}

}  // namespace giftsync::sync
