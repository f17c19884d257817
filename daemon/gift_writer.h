// daemon: the group-commit writer. Requests of many HTTP threads that arrive together are made durable by one
// commit; each caller waits for its own outcome. One commit for each request would be seven times slower
// (pitfalls, 0.1).
#pragma once

#include <semaphore.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "schema/store/gift_ledger.h"

namespace giftsync::daemon {

class GiftWriter {
 public:
  explicit GiftWriter(schema::GiftLedger& ledger);
  /// Finishes what waits, then ends.
  ~GiftWriter();
  GiftWriter(const GiftWriter&) = delete;
  GiftWriter& operator=(const GiftWriter&) = delete;

  /// Durable on return. Nullopt when kMostWaiting requests wait already: try again later. Throws
  /// schema::BrokenWorld when the store fails. When the connection broke during COMMIT the answer waits up to
  /// kPatience for the store to come back and tell; only then is the outcome `unknown`. Any thread.
  std::optional<schema::CreateOutcome> create(schema::NewGiftRequest request);

  /// Many callers have been waiting at once a moment ago: the loops give way. Any thread.
  bool is_crowded() const;

 private:
  static constexpr std::size_t kMostInGroup = 500;
  static constexpr std::size_t kMostWaiting = 2000;
  static constexpr std::size_t kCrowd = 8;
  static constexpr std::chrono::milliseconds kCrowdLasts{50};
  static constexpr std::chrono::seconds kPatience{20};
  static constexpr std::chrono::milliseconds kBetweenLooks{250};

  /// Rings once. The C library's semaphore, because the C++ one spins with sched_yield before it sleeps: a
  /// sixth of the machine, with 64 callers waiting for a disk.
  class Bell {
   public:
    Bell() { ::sem_init(&semaphore_, 0, 0); }
    ~Bell() { ::sem_destroy(&semaphore_); }
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;
    void ring() { ::sem_post(&semaphore_); }
    void wait() {
      while (::sem_wait(&semaphore_) != 0) {
      }
    }

   private:
    ::sem_t semaphore_;
  };

  /// One caller's seat, on the caller's stack until `done`.
  struct Seat {
    schema::NewGiftRequest request;
    schema::CreateOutcome outcome;
    std::exception_ptr fault;
    Bell done;
  };
  void run();
  std::vector<Seat*> next_group();
  void write(const std::vector<Seat*>& group);
  void settle_unknown(const std::vector<schema::NewGiftRequest>& requests,
                      std::vector<schema::CreateOutcome>& outcomes);
  bool is_ended_after(std::chrono::milliseconds pause);

  schema::GiftLedger& ledger_;
  std::atomic<std::chrono::steady_clock::time_point> last_crowd_{};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Seat*> waiting_;  // guarded by mutex_
  bool stopping_ = false;       // guarded by mutex_
  std::thread thread_;          // last: it uses all of the above
};

}  // namespace giftsync::daemon
