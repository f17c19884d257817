// daemon/loops: one thread that repeats one step. The step says whether there is more to do at once; else the
// loop waits for a wake-up or its pace. While somebody waits for the machine it takes only a share of the
// time. A step that throws schema::BrokenWorld is repeated after a back-off; the fault is logged once when it
// begins and once when it ends, not with every try.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace giftsync::daemon {

class Loop {
 public:
  struct Work {
    std::string name;
    std::int64_t pace_millis = 500;   ///< at rest, between two looks
    std::function<bool(Loop&)> step;  ///< true: more to do at once
    std::function<void()> after_fault = [] {
    };  ///< before the step that follows a fault; may throw like the step
    std::function<bool()> give_way = [] { return false; };  ///< somebody waits for the machine
  };
  /// Runs at once.
  explicit Loop(Work work);
  /// Lets the running step end, then joins.
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void wake();
  /// Asks the loop to end after its step, without waiting.
  void request_stop();
  /// For steps that take long: says that the loop is alive, and whether it should end.
  bool alive_and_wanted();
  /// How long ago the loop last showed life.
  std::int64_t silent_millis() const;
  const std::string& name() const { return work_.name; }

 private:
  void run();
  /// True when the step found more to do.
  bool run_step();
  void rest(std::int64_t millis);
  void note_fault(const std::string& what);
  void note_recovery();

  const Work work_;
  std::atomic<std::int64_t> last_alive_millis_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = false;                // guarded by mutex_
  bool stopping_ = false;             // guarded by mutex_
  std::int64_t faults_in_a_row_ = 0;  // the thread's own
  std::thread thread_;                // last: it uses all of the above
};

}  // namespace giftsync::daemon
