// platform: until when calls of a remote dependency may run that one thread makes, beside the limit for all
// (call_deadline.h): a thread that serves people does not wait as long as a worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "platform/clock.h"

namespace giftsync::platform {

/// As long as it exists, running calls of its thread and later ones end `millis` after its beginning. Within
/// another one the earlier end counts.
class ThreadCallDeadline {
 public:
  explicit ThreadCallDeadline(std::int64_t millis) : before_(ends_at_) {
    ends_at_ = std::min(ends_at_, boottime_millis() + millis);
  }
  ~ThreadCallDeadline() { ends_at_ = before_; }
  ThreadCallDeadline(const ThreadCallDeadline&) = delete;
  ThreadCallDeadline& operator=(const ThreadCallDeadline&) = delete;

  /// For the present thread; true without a deadline.
  static bool may_continue() { return ends_at_ == kNever || boottime_millis() < ends_at_; }
  /// What is left for the present thread, at least 1; 0 without a deadline.
  static std::int64_t remaining_millis() {
    return ends_at_ == kNever ? 0 : std::max<std::int64_t>(ends_at_ - boottime_millis(), 1);
  }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  inline static thread_local std::int64_t ends_at_ = kNever;
  const std::int64_t before_;
};

}  // namespace giftsync::platform
