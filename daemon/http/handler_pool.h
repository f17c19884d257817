// daemon/http: the threads on which handlers run, and the queue before them (HTTP-48).
//
// One thread takes short tasks from the queue faster than others would wake up; but handlers may also compute
// for long or wait for the store. So one thread is woken at once, and one more whenever the queue's first
// task has waited for kPatience.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace giftsync::http {

/// What waits for the threads of a pool and what was refused, for metrics (OPS-40).
struct PoolMeter {
  std::atomic<std::int64_t> queued = 0;    ///< tasks that wait for a thread
  std::atomic<std::uint64_t> refused = 0;  ///< requests, because too many waited, or one for too long
};

/// Of all pools of HandlerPools (http_connection.h).
struct PoolMeters {
  PoolMeter responses;
  PoolMeter endpoints;
  PoolMeter crm;
  PoolMeter pages;
  PoolMeter console;
  PoolMeter sign_ins;
  PoolMeter readiness;
  PoolMeter liveness;
  PoolMeter handshakes;
};

/// Any thread.
class HandlerPool {
 public:
  using Task = std::function<void()>;
  static constexpr std::chrono::milliseconds kPatience{2};

  /// Threads start when they are first needed; the system shows them by this name. `meter` must outlive it.
  HandlerPool(std::string name, std::size_t max_threads, std::size_t max_queued, PoolMeter& meter);
  /// Runs what is queued, then ends the threads.
  ~HandlerPool();
  HandlerPool(const HandlerPool&) = delete;
  HandlerPool& operator=(const HandlerPool&) = delete;

  /// False: max_queued tasks are waiting.
  [[nodiscard]] bool try_post(Task task);
  /// The rest of a task that try_post() took; never refused.
  void post(Task task);
  /// A task that was taken is refused after all.
  void count_refusal() { meter_.refused.fetch_add(1, std::memory_order_relaxed); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Queued {
    Task task;
    Clock::time_point since;
  };

  /// These are called under mutex_.
  void push(Task task);
  void wake_one();
  void start_thread();
  void start_watcher();
  void run();
  /// The watcher's thread: wakes threads for tasks that wait.
  void watch();

  const std::string name_;
  const std::size_t max_threads_;
  const std::size_t max_queued_;
  PoolMeter& meter_;
  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_backlog_;
  std::deque<Queued> queue_;  // guarded by mutex_, like all that follow
  std::size_t idle_ = 0;      ///< threads that wait for work and are not woken yet
  std::size_t woken_ = 0;     ///< of the woken ones, those that have not noticed it yet
  bool stopping_ = false;
  bool watcher_sleeps_ = false;
  std::vector<std::thread> threads_;
  std::thread watcher_;
};

}  // namespace giftsync::http
