// sync: one run of the lifecycle timers: gifts that are due are expired, refunded or reminded (LIFE-9,
// LIFE-10). Each outcome is decided from everything accepted by then, under its gift's lock, and dated with
// its due time. So it does not matter when the step runs, how often, or in how many daemons.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "schema/store/mail/lifecycle_store.h"
#include "schema/store/store.h"

namespace giftsync::sync {

struct LifecycleStepStats {
  std::size_t expired = 0;
  std::size_t refunded = 0;
  std::size_t reminded = 0;             ///< reminders enqueued in the mail outbox
  bool more = false;                    ///< more gifts may be due
  std::vector<std::string> warnings{};  ///< one for each gift whose timer the store refuses
};

/// One transaction of the store: short, because a caller's write may wait for it (SQLite).
inline constexpr std::size_t kMaxDuePerStep = 500;

/// Processes at most `limit` gifts in one transaction. If the store refuses it, it processes each of them
/// in its own, and those that fail are tried again in an hour. Throws DependencyError when the
/// store fails; outcomes decided before remain, the others stay due.
LifecycleStepStats lifecycle_step(store::Store& store, UtcMillis now, std::size_t limit = kMaxDuePerStep);

// What a timer decides about a gift that is due (LIFE-9, LIFE-10, LIFE-12, LIFE-14, LIFE-22): an
// outcome, a reminder, or only when to look again. Pure: the store locks the gift, asks, and writes the
// answer in the same transaction.

/// `due`: a gift with everything accepted so far. `refused`: outcomes that an admin voided, as the log
/// found; they are not decided again, and a gift without another outcome waits for its next change. The
/// outcome is dated with its due time and received now.
store::TimerDecision decide_timer(const store::DueGift& due, std::span<const store::StatusChange> refused,
                                  UtcMillis now);

}  // namespace giftsync::sync
