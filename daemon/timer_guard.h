// daemon: whether timers may act by the time that the clock shows. A clock that jumps ahead makes everything
// due at once, and what is expired or refunded then does not come back by itself. The time is compared with a
// clock that no one sets, from one look to the next, so that drifts do not add up. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "schema/time.h"

namespace giftsync::daemon {

class TimerGuard {
 public:
  struct Verdict {
    bool may_act = true;
    std::string news;  ///< a line for the log, when doubt begins, ends, or is about another time now
  };
  /// `wall`: the time that timers go by. `unset_millis`: of a clock that no one sets, and that goes on while
  /// the machine sleeps. A jump of more than kJumpMillis ahead of it is doubted until the new time has stood
  /// for kStandsMillis, or was put right.
  Verdict look(schema::UtcMillis wall, std::int64_t unset_millis);

  static constexpr std::int64_t kJumpMillis = schema::kHourMillis;
  static constexpr std::int64_t kStandsMillis = schema::kHourMillis;

 private:
  struct Seen {
    schema::UtcMillis wall;
    std::int64_t unset_millis = 0;
  };
  struct Doubt {
    std::int64_t ahead_millis = 0;  ///< of the time before the first jump
    std::int64_t until_unset_millis = 0;
  };
  std::optional<Seen> last_;
  std::optional<Doubt> doubt_;
};

}  // namespace giftsync::daemon
