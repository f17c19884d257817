// platform: decides whether timers may act by the system clock. A clock that jumps ahead makes everything due
// at once, and an expiry or refund cannot be undone. The detector compares the system clock with a clock that
// cannot be set, from one call to the next, so drift does not add up. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "platform/time.h"

namespace giftsync::platform {

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

}  // namespace giftsync::platform
