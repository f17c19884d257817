// daemon: the clock for whatever cannot be taken back and is decided by the time alone: expiry, refund,
// reminders, giving a mail up, forgetting Idempotency-Keys. One for the whole process, so that a reload
// forgets no doubt. Any thread.
#pragma once

#include <mutex>
#include <optional>

#include "daemon/timer_guard.h"

namespace giftsync::daemon {

class TimerClock {
 public:
  /// What the system's clock is compared with is looked at from here on.
  TimerClock() { now(); }
  /// The system's time; nothing while it is in doubt (TimerGuard), which is told in the log.
  std::optional<schema::UtcMillis> now();

 private:
  std::mutex mutex_;
  TimerGuard guard_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
