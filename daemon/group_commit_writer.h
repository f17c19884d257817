// daemon: the group-commit writer. Requests that many HTTP threads make at the same time become durable in
// one commit; each caller waits for its own outcome. One commit per request would be seven times slower.
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

#include "schema/store/gift_requests.h"
#include "sync/urgent_writer.h"

namespace giftsync::daemon {

class GroupCommitWriter : public sync::GiftRequestWriter {
 public:
  explicit GroupCommitWriter(schema::store::GiftRequests& gift_requests);
  /// Writes the waiting requests, then stops.
  ~GroupCommitWriter() override;
  GroupCommitWriter(const GroupCommitWriter&) = delete;
  GroupCommitWriter& operator=(const GroupCommitWriter&) = delete;

  /// Durable on return. Nullopt when kMaxWaiters requests are waiting: retry later. Throws
  /// platform::DependencyError when the store fails. If the connection breaks during COMMIT, the call waits
  /// up to kUnknownTimeout until the store can say whether the commit happened; after that the outcome is
  /// `unknown`. Any thread.
  std::optional<schema::store::CreateOutcome> create(schema::store::NewGiftRequest request) override;

  /// True when at least kLoadThreshold callers waited together within the last kLoadWindow: workers then
  /// yield. Any thread.
  bool is_under_load() const;

 private:
  static constexpr std::size_t kMaxGroupSize = 500;
  static constexpr std::size_t kMaxWaiters = 2000;
  static constexpr std::size_t kLoadThreshold = 8;
  static constexpr std::chrono::milliseconds kLoadWindow{50};
  static constexpr std::chrono::seconds kUnknownTimeout{20};
  static constexpr std::chrono::milliseconds kRetryInterval{250};

  /// Signals once. Uses the C library's semaphore, because the C++ one spins with sched_yield before it
  /// sleeps: that took a sixth of the CPU with 64 callers waiting for a disk.
  class Semaphore {
   public:
    Semaphore() { ::sem_init(&semaphore_, 0, 0); }
    ~Semaphore() { ::sem_destroy(&semaphore_); }
    Semaphore(const Semaphore&) = delete;
    Semaphore& operator=(const Semaphore&) = delete;
    void post() { ::sem_post(&semaphore_); }
    void wait() {
      while (::sem_wait(&semaphore_) != 0) {
      }
    }

   private:
    ::sem_t semaphore_;
  };

  /// One waiting caller; lives on the caller's stack until `done`.
  struct Waiter {
    schema::store::NewGiftRequest request;
    schema::store::CreateOutcome outcome;
    std::exception_ptr fault;
    Semaphore done;
  };
  void run();
  std::vector<Waiter*> next_group();
  void write(const std::vector<Waiter*>& group);
  void resolve_unknown(const std::vector<schema::store::NewGiftRequest>& requests,
                       std::vector<schema::store::CreateOutcome>& outcomes);
  bool is_stopping_after(std::chrono::milliseconds pause);

  schema::store::GiftRequests& gift_requests_;
  std::atomic<std::chrono::steady_clock::time_point> last_load_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiter*> waiters_;  // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  std::thread thread_;            // last member: it uses all of the above
};

}  // namespace giftsync::daemon
