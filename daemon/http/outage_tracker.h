// daemon/http: tracks failures of the store (disk full, unreachable): one log line when requests begin to
// fail and one when the outage is over, however failures and successes alternate in between (OPS-13). Any
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "platform/clock.h"

namespace giftsync::daemon::http {

class OutageTracker {
 public:
  /// An outage is over once requests have succeeded for this long and none has failed. One second longer than
  /// kRetrySeconds: by then refused callers have retried, so the success was tested and is not just silence.
  static constexpr std::int64_t kRecoveryMillis = 6'000;
  /// The Retry-After of failed requests.
  static constexpr std::int64_t kRetrySeconds = 5;
  static_assert(kRecoveryMillis > kRetrySeconds * 1'000);

  explicit OutageTracker(platform::Clock clock) : clock_(std::move(clock)) {}

  /// Records a failed request. True: an outage begins with it, which the caller logs.
  bool record_failure();
  /// Records a successful request that used the store.
  void record_success();
  /// Logs an outage that is over, also without requests; called every few seconds.
  void log_if_over();
  /// True while requests fail. A store that accepts a probe's few bytes may still fail on a gift request.
  bool failed_recently() const;

 private:
  /// Under mutex_.
  void end_if_over(platform::UtcMillis now);

  const platform::Clock clock_;
  std::atomic<bool> is_ongoing_{false};  ///< changed under mutex_
  mutable std::mutex mutex_;
  std::int64_t failures_ = 0;                            // guarded by mutex_, like all that follow
  platform::UtcMillis last_failure_;                     ///< of the current outage
  std::optional<platform::UtcMillis> succeeding_since_;  ///< the first success after the last failure
};

}  // namespace giftsync::daemon::http
