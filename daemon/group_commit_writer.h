// daemon: the group-commit writer. Gift requests, webhook messages and decisions on pages that many callers
// bring at the same time become durable in one commit; each caller gets its own outcome (ARCH-22). One commit
// per request would be seven times slower.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "daemon/write_queue.h"
#include "schema/store/urgent_writes.h"
#include "sync/urgent_writer.h"

namespace giftsync::daemon {

class GroupCommitWriter : public sync::UrgentWriter {
 public:
  explicit GroupCommitWriter(schema::store::UrgentWrites& writes);
  /// Writes what is waiting, then stops.
  ~GroupCommitWriter() override;
  GroupCommitWriter(const GroupCommitWriter&) = delete;
  GroupCommitWriter& operator=(const GroupCommitWriter&) = delete;

  bool submit(schema::store::NewGiftRequest request, Done<schema::store::CreateOutcome> done) override;
  bool submit(schema::store::InboundBatch message, Done<schema::store::IngestResult> done) override;
  bool submit(schema::store::Decision decision, Done<schema::store::ConditionalOutcome> done) override;

  std::optional<schema::store::CreateOutcome> write(schema::store::NewGiftRequest request) override;
  std::optional<schema::store::IngestResult> write(schema::store::InboundBatch message) override;
  std::optional<schema::store::ConditionalOutcome> write(schema::store::Decision decision) override;

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
    WriteQueue<schema::store::NewGiftRequest, schema::store::CreateOutcome>::Part gift_requests;
    WriteQueue<schema::store::InboundBatch, schema::store::IngestResult>::Part messages;
    WriteQueue<schema::store::Decision, schema::store::ConditionalOutcome>::Part decisions;

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

  schema::store::UrgentWrites& writes_;
  std::atomic<std::chrono::steady_clock::time_point> last_load_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  WriteQueue<schema::store::NewGiftRequest, schema::store::CreateOutcome>
      gift_requests_;                                                                 // guarded by mutex_
  WriteQueue<schema::store::InboundBatch, schema::store::IngestResult> messages_;     // guarded by mutex_
  WriteQueue<schema::store::Decision, schema::store::ConditionalOutcome> decisions_;  // guarded by mutex_
  bool stopping_ = false;                                                             // guarded by mutex_
  std::thread thread_;  // last member: it uses all of the above
};

}  // namespace giftsync::daemon
