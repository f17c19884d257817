// platform: the clocks. Only this file reads them; other code takes `now` as a parameter, so a test can
// simulate a year in a second.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "platform/time.h"

namespace giftsync {

using Clock = std::function<UtcMillis()>;

/// The system's clock, UTC.
UtcMillis system_now();

/// Milliseconds since boot, of a clock that cannot be set and that continues while the process or the machine
/// is suspended (CLOCK_BOOTTIME).
std::int64_t boottime_millis();

// Decides whether timers may act by the system clock. A clock that jumps ahead makes everything due
// at once, and an expiry or refund cannot be undone. The detector compares the system clock with a clock that
// cannot be set, from one call to the next, so drift does not add up. Pure.

/// Why timers may not act.
struct ClockDoubt {
  std::int64_t ahead_millis = 0;  ///< relative to the time before the first jump
  UtcMillis until;                ///< by the clock in doubt, unless it is corrected or jumps again
};

/// "the clock jumped ahead by 1 days 0 h 0 min: nothing expires or is refunded before 2027-..., unless ..."
std::string describe(const ClockDoubt& doubt);

class ClockJumpDetector {
 public:
  struct Decision {
    bool may_act = true;
    std::string log_line;  ///< a line for the log, when doubt begins or ends, or when the clock jumps again
  };
  /// `wall`: the time that timers use. `boottime_millis`: a clock that cannot be set and that continues while
  /// the machine sleeps. After a jump of more than kJumpMillis ahead of it timers may not act until the new
  /// time has been stable for kStableMillis or the clock was corrected.
  Decision observe(UtcMillis wall, std::int64_t boottime_millis);
  /// As the last call found it; nothing while timers may act.
  std::optional<ClockDoubt> doubt() const;

  static constexpr std::int64_t kJumpMillis = kHourMillis;
  static constexpr std::int64_t kStableMillis = kHourMillis;

 private:
  struct Sample {
    UtcMillis wall;
    std::int64_t boottime_millis = 0;
  };
  struct Doubt {
    std::int64_t ahead_millis = 0;  ///< relative to the time before the first jump
    std::int64_t until_boottime_millis = 0;
  };
  std::optional<Sample> last_;
  std::optional<Doubt> doubt_;
};

// The clock for actions that depend on time alone and cannot be undone: expiry, refund, reminders,
// giving up a mail, deleting Idempotency-Keys. One per process, so a reload keeps the detected doubt. Any
// thread.

class TrustedClock {
 public:
  /// Starts the comparison with the boot-time clock.
  TrustedClock() { now(); }
  /// The system's time; nullopt while it is in doubt (ClockJumpDetector). Changes of doubt are logged.
  std::optional<UtcMillis> now();
  /// As the last now() found it, which workers call every second.
  std::optional<ClockDoubt> doubt();

 private:
  std::mutex mutex_;
  ClockJumpDetector detector_;  // guarded by mutex_
};

}  // namespace giftsync
