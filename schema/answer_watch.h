// schema: a PostgreSQL server that takes questions and answers none (it is stopped, its disk hangs, a network
// swallows everything). libpq waits for ever then, and with it every caller and every loop. While an
// AnswerWatch lives, a transaction of this program that is older than its limit has its connection cut, which
// the one who waits sees as an outage. Only a daemon has one: an admin's command may well take long, and can
// be stopped by hand. SQLite is not concerned.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace giftsync::schema {

class AnswerWatch {
 public:
  struct Limits {
    std::int64_t store_millis = 60'000;     ///< longer than any wait for a lock
    std::int64_t foreign_millis = 120'000;  ///< a CRM that someone else owns, which may lack an index
  };
  explicit AnswerWatch(Limits limits);
  ~AnswerWatch();
  AnswerWatch(const AnswerWatch&) = delete;
  AnswerWatch& operator=(const AnswerWatch&) = delete;

 private:
  void run();

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;   // guarded by mutex_
  std::thread thread_;  // last: it uses the others
};

/// How old the oldest transaction with the store's server is, 0 when there is none. Any thread.
std::int64_t oldest_transaction_millis();

}  // namespace giftsync::schema
