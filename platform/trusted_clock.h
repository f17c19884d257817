// platform: the clock for actions that depend on time alone and cannot be undone: expiry, refund, reminders,
// giving up a mail, deleting Idempotency-Keys. One per process, so a reload keeps the detected doubt. Any
// thread.
#pragma once

#include <mutex>
#include <optional>

#include "platform/clock_jump_detector.h"

namespace giftsync::platform {

class TrustedClock {
 public:
  /// Starts the comparison with the boot-time clock.
  TrustedClock() { now(); }
  /// The system's time; nullopt while it is in doubt (ClockJumpDetector). Changes of doubt are logged.
  std::optional<UtcMillis> now();

 private:
  std::mutex mutex_;
  ClockJumpDetector detector_;  // guarded by mutex_
};

}  // namespace giftsync::platform
