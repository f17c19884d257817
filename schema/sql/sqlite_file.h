// schema/sql: copies SQLite's write-ahead log into the file (a checkpoint) beside the writes, so that no
// commit waits for it. A log that is in use never begins again from its start; therefore the writer copies
// the little that was added meanwhile, and the next commit begins again.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace giftsync::sql {

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

// Which file a path leads to. SQLite goes on writing to a file that was deleted, moved away or
// replaced while it is open, and everything written there is lost.

struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// Nullopt when there is no such file.
inline std::optional<FileIdentity> identify_file(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return FileIdentity{found.st_dev, found.st_ino};
}

// Serialises writes to an SQLite file. SQLite has one writer at a time and makes the others
// poll with growing sleeps; inside one process a queue is fairer and wakes at once. Writes that a caller
// waits for go before the workers' writes, but a worker's write that has waited for kPatience goes in the
// order of arrival with all others: so callers cannot keep the workers out (ARCH-39). SQLite's own lock
// separates processes.

class WriterLock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::chrono::milliseconds kPatience{100};

  /// The lock of one file, shared by all writers of this process.
  static std::shared_ptr<WriterLock> of_file(const std::string& path);

  /// Locked while a transaction writes.
  class Guard {
   public:
    Guard(WriterLock* lock, bool urgent) : lock_(lock) {
      if (lock_) lock_->lock(urgent);
    }
    ~Guard() {
      if (lock_) lock_->unlock();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    WriterLock* lock_;
  };

  struct Waiter {
    bool urgent = false;
    Time since;
    bool is_next = false;  ///< it holds the lock and wakes up
    std::condition_variable wake_up{};
  };
  /// The one of `waiting` that writes next: the first that is urgent or has waited for kPatience, else the
  /// first. `waiting` is in the order of arrival and not empty. Pure.
  static std::list<Waiter*>::const_iterator next_of(const std::list<Waiter*>& waiting, Time now);

 private:
  void lock(bool urgent);
  void unlock();

  std::mutex mutex_;
  bool locked_ = false;         // guarded by mutex_
  std::list<Waiter*> waiting_;  // guarded by mutex_; in the order of arrival
};

}  // namespace giftsync::sql
