// schema/sql: protects against a PostgreSQL server that accepts queries and never responds (stopped,
// hanging disk, a network that drops packets). libpq would wait forever, and every caller and worker with
// it. While a QueryWatchdog exists, it closes the connection of every transaction of this program that
// exceeds its limit; the waiting thread gets a connection error. Only the daemon has one: an admin's
// command may take long and can be interrupted. SQLite is not affected.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace giftsync::schema::sql {

class QueryWatchdog {
 public:
  struct Limits {
    std::int64_t store_millis = 60'000;          ///< longer than any wait for a lock
    std::int64_t external_crm_millis = 120'000;  ///< an external CRM may lack an index
  };
  explicit QueryWatchdog(Limits limits);
  ~QueryWatchdog();
  QueryWatchdog(const QueryWatchdog&) = delete;
  QueryWatchdog& operator=(const QueryWatchdog&) = delete;

 private:
  void run();

  const Limits limits_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;  // guarded by mutex_
  std::thread thread_;     // last: it uses the others
};

/// The age of the oldest transaction with the store's server; 0 when there is none. Any thread.
std::int64_t oldest_store_query_millis();

}  // namespace giftsync::schema::sql
