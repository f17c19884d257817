// schema/sql: copies SQLite's write-ahead log into the file (a checkpoint) beside the writes, so that no
// commit waits for it. A log that is in use never begins again from its start; therefore the writer copies
// the little that was added meanwhile, and the next commit begins again.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace giftsync::schema::sql {

class Checkpointer {
 public:
  /// A log of so many pages (4 kB) is copied; SQLite's own default is 1000.
  static constexpr int kPages = 4000;
  /// After so many more it is tried again while a reader keeps the log from beginning again.
  static constexpr int kRetryPages = 250;

  /// `checkpoint` runs on a thread of its own, which starts when it is first needed, and must not throw.
  explicit Checkpointer(std::function<void()> checkpoint) : checkpoint_(std::move(checkpoint)) {}
  ~Checkpointer() { stop(); }
  Checkpointer(const Checkpointer&) = delete;
  Checkpointer& operator=(const Checkpointer&) = delete;

  /// Ends the thread. Call before what `checkpoint` uses ends.
  void stop();

  /// For the writer, after each commit: the log has so many pages. True: most of it is copied, copy the rest
  /// now.
  bool should_finish(int pages);

 private:
  enum class State { waiting, wanted, copied };
  void run();

  const std::function<void()> checkpoint_;
  std::mutex mutex_;
  std::condition_variable wanted_;
  State state_ = State::waiting;  // guarded by mutex_, like all that follow
  int begin_at_ = kPages;         ///< pages; above kPages while a reader keeps the log from beginning again
  int last_pages_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace giftsync::schema::sql
