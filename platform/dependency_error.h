// platform: errors of other systems, and how long a call to one may take. The one exception for a broken
// dependency (store unreachable, disk full, CRM database down). Foreseen outcomes are return values; a bug
// aborts. The HTTP dispatcher, the workers and the programs' top level catch it (ARCH-8).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

#include "platform/clock.h"
#include "platform/time.h"

namespace giftsync {

class DependencyError : public std::runtime_error {
 public:
  DependencyError(bool transient, const std::string& what, bool of_external_crm = false)
      : std::runtime_error(what), transient_(transient), of_external_crm_(of_external_crm) {}
  /// True when a later retry may succeed without a change to the configuration: 503 and Retry-After.
  bool transient() const { return transient_; }
  /// The failed database is the external CRM's, not the store's.
  bool of_external_crm() const { return of_external_crm_; }

 private:
  bool transient_;
  bool of_external_crm_;
};

// A dependency that is not to be asked before a certain time: its quota is used up, or it has said
// when it will be back, or it refuses what is asked until an admin has mended something. Asking earlier does
// no harm: it gets the same error, at most for one call.

class DependencyPause : public DependencyError {
 public:
  /// `what` names the reason and the time. Not transient: time alone does not help.
  DependencyPause(UtcMillis until, const std::string& what, bool of_external_crm = false,
                  bool transient = true)
      : DependencyError(transient, what, of_external_crm), until_(until) {}
  UtcMillis until() const { return until_; }

 private:
  UtcMillis until_;
};

// A dependency that does not answer, or at whose address something else does: the network, or the
// setting with the address, is to be checked.

class UnreachableError : public DependencyError {
 public:
  using DependencyError::DependencyError;
};

// Until when calls of a remote dependency may run: short while something waits for them, else
// without an end of its own. Any thread.

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
// (CallDeadline): a thread that serves people does not wait as long as a worker.

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
/// Writes are not limited. A CRM of its own database has ThreadCallDeadline. After it the limit of before
/// applies again.
class ReadLimit {
 public:
  explicit ReadLimit(std::int64_t millis) : before_(millis_) { millis_ = millis; }
  ~ReadLimit() { millis_ = before_; }
  ReadLimit(const ReadLimit&) = delete;
  ReadLimit& operator=(const ReadLimit&) = delete;

  /// The limit of this thread; 0: none.
  static std::int64_t millis() { return millis_; }

 private:
  static inline thread_local std::int64_t millis_ = 0;
  const std::int64_t before_;
};

}  // namespace giftsync
