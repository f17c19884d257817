// sync: writes the outcomes of mails and the beginnings of the next ones, of all connections, in group
// commits: one transaction serves all mails that wait for it. Each mail is still sent only after its
// `sending` is durable (MAIL-5, MAIL-31). Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <vector>

#include "schema/store/delivery_queue.h"

namespace giftsync::sync {

/// The lease while a mail is being sent; no other lease of a mail is longer.
inline constexpr std::int64_t kSendingLeaseMillis = 90'000;

class AttemptWriter {
 public:
  using Sending = schema::store::DeliveryQueue::Sending;
  struct Attempts {
    std::vector<schema::store::DeliveryOutcome> ended;
    std::vector<Sending> begun;
  };

  /// `now` is called by any thread.
  AttemptWriter(schema::store::DeliveryQueue& queue, std::function<platform::UtcMillis()> now);

  /// Durable on return. One flag for each of `begun`: false, it must not be sent (see
  /// DeliveryQueue::begin_sending). Throws platform::DependencyError; a fault of another connection's
  /// attempts fails only those.
  std::vector<bool> write(const std::string& owner, const Attempts& attempts);

  /// Between join() and leave() a connection has a mail: a group waits for it, for a moment.
  void join();
  void leave();

 private:
  struct Waiting {
    const std::string& owner;
    const Attempts& attempts;
    std::vector<bool> has_begun{};
    std::exception_ptr fault{};
    bool is_done = false;
  };
  void lead(std::unique_lock<std::mutex>& lock);
  void commit(const std::vector<Waiting*>& group);
  void commit_together(const std::vector<Waiting*>& group);

  schema::store::DeliveryQueue& queue_;
  const std::function<platform::UtcMillis()> now_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting*> waiting_;             // guarded by mutex_
  bool has_leader_ = false;                   // guarded by mutex_
  std::size_t joined_ = 0;                    // guarded by mutex_
  std::chrono::microseconds last_commit_{0};  // used by the leader only
};

}  // namespace giftsync::sync
