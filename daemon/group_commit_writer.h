// daemon: the group-commit writer. Gift requests, webhook messages and decisions on pages that many callers
// bring at the same time become durable in one commit; each caller gets its own outcome (ARCH-22). One commit
// per request would be seven times slower.
#pragma once

#include <semaphore.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "schema/store/crm/urgent_writes.h"
#include "sync/crm/urgent_writer.h"

namespace giftsync::daemon {

// The waiting writes of one kind, in the order of their arrival, and the share of a group that each
// kind gets. Not thread-safe.

/// A group has at most so many members, and members of one kind only until they have so many rows: a message
/// of a thousand changes must not make many others wait.
inline constexpr std::size_t kMaxGroupSize = 500;
inline constexpr std::size_t kMaxGroupRows = 5'000;

/// How many rows a write brings, about.
inline std::size_t rows_of(const store::NewGiftRequest& request) {
  return std::max<std::size_t>(request.recipients.size(), 1);
}
inline std::size_t rows_of(const store::InboundBatch& message) {
  return std::max<std::size_t>(message.items.size(), 1);
}
inline std::size_t rows_of(const store::Decision&) {
  return 1;
}

template <class Member, class Outcome>
class WriteQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 2'000;
  static constexpr std::size_t kMaxWaitingRows = 100'000;
  using Done = std::function<void(store::Written<Outcome>)>;

  /// Members and their callers, in the same order.
  struct Part {
    std::vector<Member> members;
    std::vector<Done> callers;
  };

  /// False: too many are waiting. One that is alone is always taken.
  bool push(Member member, Done done) {
    const std::size_t rows = rows_of(member);
    if (waiting_.size() >= kMaxWaiting || (rows_ > 0 && rows_ + rows > kMaxWaitingRows)) return false;
    rows_ += rows;
    waiting_.push_back({std::move(member), std::move(done)});
    return true;
  }

  /// Removes the first ones, at most `limit`.
  Part take(std::size_t limit) {
    Part part;
    for (std::size_t rows = 0; part.members.size() < limit && !waiting_.empty() && rows < kMaxGroupRows;) {
      rows += rows_of(waiting_.front().first);
      rows_ -= rows_of(waiting_.front().first);
      part.members.push_back(std::move(waiting_.front().first));
      part.callers.push_back(std::move(waiting_.front().second));
      waiting_.pop_front();
    }
    return part;
  }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  std::deque<std::pair<Member, Done>> waiting_;
  std::size_t rows_ = 0;
};

/// How many of each kind a group takes when so many of each are waiting: the kinds get equal shares, and what
/// one does not need goes to the others (ARCH-22). Pure.
template <std::size_t kKinds>
std::array<std::size_t, kKinds> fair_shares(const std::array<std::size_t, kKinds>& waiting,
                                            std::size_t group_size) {
  std::array<std::size_t, kKinds> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return waiting[a] < waiting[b]; });
  std::array<std::size_t, kKinds> shares{};
  std::size_t left = group_size;
  for (std::size_t i = 0; i < kKinds; ++i) {
    shares[order[i]] = std::min(waiting[order[i]], left / (kKinds - i));
    left -= shares[order[i]];
  }
  return shares;
}

class GroupCommitWriter : public sync::UrgentWriter {
 public:
  /// What metrics count; called on any thread, and must not wait.
  struct Observer {
    std::function<void(std::size_t members, std::chrono::nanoseconds took)> on_commit;
    std::function<void()> on_refusal;  ///< too many writes are waiting
  };
  explicit GroupCommitWriter(store::UrgentWrites& writes,
                             Observer observer = {.on_commit = [](std::size_t, std::chrono::nanoseconds) {},
                                                  .on_refusal = [] {}});
  /// Writes what is waiting, then stops.
  ~GroupCommitWriter() override;
  GroupCommitWriter(const GroupCommitWriter&) = delete;
  GroupCommitWriter& operator=(const GroupCommitWriter&) = delete;

  bool submit(store::NewGiftRequest request, Done<store::CreateOutcome> done) override;
  bool submit(store::InboundBatch message, Done<store::IngestResult> done) override;
  bool submit(store::Decision decision, Done<store::ConditionalOutcome> done) override;

  std::optional<store::CreateOutcome> write(store::NewGiftRequest request) override;
  std::optional<store::IngestResult> write(store::InboundBatch message) override;
  std::optional<store::ConditionalOutcome> write(store::Decision decision) override;

  /// True when at least kLoadThreshold callers waited together within the last kLoadWindow: workers then
  /// yield. Any thread.
  bool is_under_load() const;

 private:
  static constexpr std::size_t kLoadThreshold = 8;
  static constexpr std::chrono::milliseconds kLoadWindow{50};
  static constexpr std::chrono::seconds kUnknownTimeout{20};
  static constexpr std::chrono::milliseconds kRetryInterval{250};

  /// The members of a group and their callers.
  struct Group {
    WriteQueue<store::NewGiftRequest, store::CreateOutcome>::Part gift_requests;
    WriteQueue<store::InboundBatch, store::IngestResult>::Part messages;
    WriteQueue<store::Decision, store::ConditionalOutcome>::Part decisions;

    std::size_t size() const {
      return gift_requests.members.size() + messages.members.size() + decisions.members.size();
    }
  };
  template <class Queue, class Member, class Caller>
  bool enqueue(Queue& queue, Member member, Caller done);
  template <class Outcome, class Member>
  std::optional<Outcome> submit_and_wait(Member member);
  void run();
  Group next_group();
  void write_group(Group group);
  bool is_stopping_after(std::chrono::milliseconds pause);

  store::UrgentWrites& writes_;
  const Observer observer_;
  std::atomic<std::chrono::steady_clock::time_point> last_load_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  WriteQueue<store::NewGiftRequest, store::CreateOutcome> gift_requests_;  // guarded by mutex_
  WriteQueue<store::InboundBatch, store::IngestResult> messages_;          // guarded by mutex_
  WriteQueue<store::Decision, store::ConditionalOutcome> decisions_;       // guarded by mutex_
  bool stopping_ = false;                                                  // guarded by mutex_
  std::thread thread_;  // last member: it uses all of the above
};

// A value that one thread waits for and another one brings, once.

/// Uses the C library's semaphore, because the C++ one spins with sched_yield before it sleeps: that took a
/// sixth of the CPU with 64 callers waiting for a disk.
template <class Value>
class AwaitedValue {
 public:
  AwaitedValue() { ::sem_init(&semaphore_, 0, 0); }
  ~AwaitedValue() { ::sem_destroy(&semaphore_); }
  AwaitedValue(const AwaitedValue&) = delete;
  AwaitedValue& operator=(const AwaitedValue&) = delete;

  /// This may be destroyed from here on.
  void set(Value value) {
    value_ = std::move(value);
    ::sem_post(&semaphore_);
  }
  Value wait() {
    while (::sem_wait(&semaphore_) != 0) {
    }
    return std::move(*value_);
  }

 private:
  ::sem_t semaphore_;
  std::optional<Value> value_;
};

}  // namespace giftsync::daemon
