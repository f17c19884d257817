// daemon: the group-commit writer. Writes that many callers ask for at the same time become durable in one
// commit; each caller gets its own outcome. One commit per request would be seven times slower.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "schema/store/gift_requests.h"
#include "sync/urgent_writer.h"

namespace giftsync::daemon {

class GroupCommitWriter : public sync::UrgentWriter {
 public:
  explicit GroupCommitWriter(schema::store::GiftRequests& gift_requests);
  /// Writes what is waiting, then stops.
  ~GroupCommitWriter() override;
  GroupCommitWriter(const GroupCommitWriter&) = delete;
  GroupCommitWriter& operator=(const GroupCommitWriter&) = delete;

  bool submit(schema::store::NewGiftRequest request, Done<schema::store::CreateOutcome> done) override;
  std::optional<schema::store::CreateOutcome> write(schema::store::NewGiftRequest request) override;

  /// True when at least kLoadThreshold callers waited together within the last kLoadWindow: workers then
  /// yield. Any thread.
  bool is_under_load() const;

 private:
  static constexpr std::size_t kMaxGroupSize = 500;
  static constexpr std::size_t kMaxWaiting = 2000;
  static constexpr std::size_t kLoadThreshold = 8;
  static constexpr std::chrono::milliseconds kLoadWindow{50};
  static constexpr std::chrono::seconds kUnknownTimeout{20};
  static constexpr std::chrono::milliseconds kRetryInterval{250};

  struct Waiting {
    schema::store::NewGiftRequest request;
    Done<schema::store::CreateOutcome> done;
  };
  void run();
  std::vector<Waiting> next_group();
  void write_group(std::vector<Waiting> group);
  void resolve_unknown(const std::vector<schema::store::NewGiftRequest>& requests,
                       std::vector<schema::store::CreateOutcome>& outcomes);
  bool is_stopping_after(std::chrono::milliseconds pause);

  schema::store::GiftRequests& gift_requests_;
  std::atomic<std::chrono::steady_clock::time_point> last_load_{};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Waiting> waiting_;  // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  std::thread thread_;            // last member: it uses all of the above
};

}  // namespace giftsync::daemon
