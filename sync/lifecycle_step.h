// sync: one round of the timers (design 3.6): gifts whose time has come are expired, refunded or reminded of.
// Each outcome is decided anew over everything that was accepted by then, and carries the time it was due, so
// that it makes no difference when the round came, how often, and in how many daemons at once.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schema/store/store.h"

namespace giftsync::sync {

struct LifecycleReport {
  std::size_t expired = 0;
  std::size_t refunded = 0;
  std::size_t reminded = 0;  ///< reminders put into the outbox
  bool more = false;         ///< there may be more that is due
};

inline constexpr std::size_t kDueInRound = 500;

/// Does at most `limit`. Throws schema::BrokenWorld when the store fails; what was decided by then stands,
/// and the rest is due still.
LifecycleReport lifecycle_step(schema::Store& store, schema::UtcMillis now, std::size_t limit = kDueInRound);

}  // namespace giftsync::sync
