// daemon: the group-commit writer. Requests of many HTTP threads that arrive together are made durable by one
// commit; each caller waits for its own outcome. One commit for each request would be seven times slower
// (pitfalls, 0.1).
#pragma once

#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
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
  /// schema::BrokenWorld when the store fails. Any thread.
  std::optional<schema::CreateOutcome> create(schema::NewGiftRequest request);

 private:
  static constexpr std::size_t kMostInGroup = 500;
  static constexpr std::size_t kMostWaiting = 2000;

  /// One caller's seat, on the caller's stack until `done`.
  struct Seat {
    schema::NewGiftRequest request;
    schema::CreateOutcome outcome;
    std::exception_ptr fault;
    std::binary_semaphore done{0};
  };
  void run();
  std::vector<Seat*> next_group();
  void write(const std::vector<Seat*>& group);

  schema::GiftLedger& ledger_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Seat*> waiting_;  // guarded by mutex_
  bool stopping_ = false;       // guarded by mutex_
  std::thread thread_;          // last: it uses all of the above
};

}  // namespace giftsync::daemon
