// sync: one run of the lifecycle timers: gifts that are due are expired, refunded or reminded (LIFE-9,
// LIFE-10). Each outcome is decided from everything accepted by then, under its gift's lock, and dated with
// its due time. So it does not matter when the step runs, how often, or in how many daemons.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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
/// in its own, and those that fail are tried again in an hour. Throws platform::DependencyError when the
/// store fails; outcomes decided before remain, the others stay due.
LifecycleStepStats lifecycle_step(schema::store::Store& store, platform::UtcMillis now,
                                  std::size_t limit = kMaxDuePerStep);

}  // namespace giftsync::sync
