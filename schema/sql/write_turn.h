// schema/sql: whose turn it is to write to an SQLite file. SQLite has one writer at a time and makes the
// others poll with growing sleeps; inside one process a queue is fairer and wakes at once. Requests that
// somebody waits for go before the loops. Other processes are still kept apart by SQLite's own lock.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

namespace giftsync::schema::sql {

class WriteTurn {
 public:
  /// The one turn of a file, shared by all who write to it in this process.
  static std::shared_ptr<WriteTurn> of_file(const std::string& path);

  /// Held while a transaction writes.
  class Holding {
   public:
    Holding(WriteTurn* turn, bool urgent) : turn_(turn) {
      if (turn_) turn_->take(urgent);
    }
    ~Holding() {
      if (turn_) turn_->give_back();
    }
    Holding(const Holding&) = delete;
    Holding& operator=(const Holding&) = delete;

   private:
    WriteTurn* turn_;
  };

 private:
  void take(bool urgent);
  void give_back();

  std::mutex mutex_;
  std::condition_variable changed_;
  bool taken_ = false;      // guarded by mutex_
  int urgent_waiting_ = 0;  // guarded by mutex_
};

}  // namespace giftsync::schema::sql
