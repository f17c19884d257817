// platform: until when calls of a remote dependency may run: short while something waits for them, else
// without an end of its own. Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "platform/clock.h"
#include "platform/dependency_error.h"

namespace giftsync {

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

// Until when calls of a remote dependency may run that one thread makes, beside the limit for all
// (call_deadline.h): a thread that serves people does not wait as long as a worker.

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

// How long a read of the store may take on a thread whose caller prefers no answer to a late one (a
// page of the console). The reads themselves hold to it: schema/sql/database.cpp.

/// A read took longer than its limit. The store is well.
class ReadTooLong : public DependencyError {
 public:
  explicit ReadTooLong(const std::string& what) : DependencyError(true, what) {}
};

/// While it exists, each read of the store on this thread that takes longer than `millis` throws ReadTooLong.
/// Writes are not limited. A CRM of its own database has ThreadCallDeadline. At most one for each thread.
class ReadLimit {
 public:
  explicit ReadLimit(std::int64_t millis) { millis_ = millis; }
  ~ReadLimit() { millis_ = 0; }
  ReadLimit(const ReadLimit&) = delete;
  ReadLimit& operator=(const ReadLimit&) = delete;

  /// The limit of this thread; 0: none.
  static std::int64_t millis() { return millis_; }

 private:
  static inline thread_local std::int64_t millis_ = 0;
};

}  // namespace giftsync
