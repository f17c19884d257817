// platform: until when calls of a remote dependency may run: short while something waits for them, else
// without an end of its own. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "platform/clock.h"

namespace giftsync::platform {

class CallDeadline {
 public:
  /// Running calls and later ones end after that time.
  void end_in(std::int64_t millis) { ends_at_ = boottime_millis() + millis; }
  void remove() { ends_at_ = kNever; }
  bool may_continue() const { return boottime_millis() < ends_at_; }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::int64_t> ends_at_ = kNever;
};

}  // namespace giftsync::platform
