// daemon/http: when requests fail because the world is broken (disk full, store gone): one line in the log
// when that begins and one when it is over, however the failures and the few that slip through between them
// take turns. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "daemon/clock.h"

namespace giftsync::daemon {

class Outage {
 public:
  /// An outage is over once requests have been answered for so long and none has failed. A second longer than
  /// callers are told to wait (kRetrySeconds): by then those who were refused have come again, so it has been
  /// tried and not only been quiet.
  static constexpr std::int64_t kCalmMillis = 6'000;
  /// What a caller reads in Retry-After.
  static constexpr std::int64_t kRetrySeconds = 5;
  static_assert(kCalmMillis > kRetrySeconds * 1'000);

  explicit Outage(Clock clock) : clock_(std::move(clock)) {}

  /// A request failed. True: an outage begins with it, which the caller logs.
  bool note_fault();
  /// A request was answered, and the store had a part in that.
  void note_answer();
  /// Tells of an outage that is over, also while nobody calls; to be asked now and then.
  void catch_up();
  /// True while requests fail: a store that still takes a probe's few bytes may refuse a gift request's.
  bool failed_lately() const;

 private:
  /// Under mutex_.
  void tell_if_over(schema::UtcMillis now);

  const Clock clock_;
  std::atomic<bool> is_on_{false};  ///< changed under mutex_
  mutable std::mutex mutex_;
  std::int64_t faults_ = 0;                          // guarded by mutex_, as all that follows
  schema::UtcMillis last_fault_;                     ///< while it is on
  std::optional<schema::UtcMillis> answered_since_;  ///< of the answers after the last fault the first
};

}  // namespace giftsync::daemon
