// platform: one thread that repeats one step. The step returns whether there is more to do at once; otherwise
// the worker waits for a wake-up or its interval. While callers wait for a response it uses only a share of
// the time. A step that throws DependencyError is repeated after a back-off; the error is logged
// when it begins, with each further reason once (other numbers are the same reason), and when it ends
// (ARCH-27).
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>

namespace giftsync {

class PeriodicWorker {
 public:
  struct Options {
    std::string name;
    std::int64_t interval_millis = 500;         ///< between two steps
    std::function<bool(PeriodicWorker&)> step;  ///< true: more to do at once
    std::function<void()> before_retry = [] {
    };  ///< runs before the step that follows an error; may throw like the step
    std::function<bool()> should_yield = [] { return false; };  ///< true while callers wait for a response
  };
  /// Wakes the worker: the next step starts at once.
  explicit PeriodicWorker(Options options);
  /// Calls finish().
  ~PeriodicWorker();
  PeriodicWorker(const PeriodicWorker&) = delete;
  PeriodicWorker& operator=(const PeriodicWorker&) = delete;

  void wake();
  /// Requests the stop without waiting for it.
  void request_stop();
  /// Waits until the current step has ended and none follows. By one thread.
  void finish();
  /// For long steps: records a heartbeat; false: the step should end.
  bool heartbeat_and_should_run();
  /// Time since the last heartbeat.
  std::int64_t millis_since_heartbeat() const;

 private:
  void run();
  /// True when the step has more to do.
  bool run_step();
  void pause(std::int64_t millis);
  void log_fault(const std::string& reason);

  const Options options_;
  std::atomic<std::int64_t> last_heartbeat_millis_;
  std::mutex mutex_;
  std::condition_variable state_changed_;
  bool wake_requested_ = false;            // guarded by mutex_
  bool stop_requested_ = false;            // guarded by mutex_
  std::int64_t consecutive_failures_ = 0;  // used by the worker's thread only
  std::set<std::string> logged_reasons_;   // of this fault, without digits; used by the worker's thread only
  std::thread thread_;                     // last: it uses all of the above
};

// What the system calls a thread, for `top -H` and benchmarks (ARCH-25).

/// Names the calling thread. The system keeps 15 bytes.
inline void name_thread(std::string name) {
  constexpr std::size_t kMaxBytes = 15;
  name.resize(std::min(name.size(), kMaxBytes));
  pthread_setname_np(pthread_self(), name.c_str());
}

/// The longest time since a last heartbeat of these workers, of which some may be null; 0 when all are.
std::int64_t longest_since_heartbeat(std::span<const std::unique_ptr<PeriodicWorker>> workers);

}  // namespace giftsync
