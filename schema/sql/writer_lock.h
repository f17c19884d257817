// schema/sql: serialises writes to an SQLite file. SQLite has one writer at a time and makes the others
// poll with growing sleeps; inside one process a queue is fairer and wakes at once. Writes that a caller
// waits for go before the workers' writes, but a worker's write that has waited for kPatience goes in the
// order of arrival with all others: so callers cannot keep the workers out (ARCH-39). SQLite's own lock
// separates processes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>

namespace giftsync::schema::sql {

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

}  // namespace giftsync::schema::sql
