// schema/sql: serialises writes to an SQLite file. SQLite has one writer at a time and makes the others
// poll with growing sleeps; inside one process a queue is fairer and wakes at once. Writes that a caller
// waits for have priority over the workers' writes. SQLite's own lock separates processes.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace giftsync::schema::sql {

class WriterLock {
 public:
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

 private:
  void lock(bool urgent);
  void unlock();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool locked_ = false;     // guarded by mutex_
  int urgent_waiting_ = 0;  // guarded by mutex_
};

}  // namespace giftsync::schema::sql
