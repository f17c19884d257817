// schema/sql: protects against a PostgreSQL server that accepts queries and never responds (stopped,
// hanging disk, a network that drops packets). libpq would wait forever, and every caller and worker with
// it. While a QueryWatchdog exists, it closes the connection of every transaction of this program that
// exceeds its limit; the waiting thread gets a connection error. Only the daemon has one: an admin's
// command may take long and can be interrupted. SQLite is not affected.
#pragma once

#include <soci/soci.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace giftsync::sql {

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

// The transactions that wait for a PostgreSQL server; see schema/sql/query_watchdog.h.
// Included by schema/'s .cpp files only.

/// One transaction, registered for its lifetime. A negative socket (SQLite) is not monitored.
class ActiveQuery {
 public:
  /// `limit_millis`: of this transaction, if it is below the watchdog's own; 0: none.
  ActiveQuery(int socket, bool is_external_crm, std::int64_t limit_millis = 0);
  ~ActiveQuery();
  ActiveQuery(const ActiveQuery&) = delete;
  ActiveQuery& operator=(const ActiveQuery&) = delete;

  /// The watchdog closed its connection because it exceeded its limit.
  bool was_aborted() const;

 private:
  friend void abort_overdue_queries(const QueryWatchdog::Limits& limits);
  friend std::int64_t oldest_active_query_millis();
  friend void renew_active_query();

  const int socket_;
  const bool is_external_crm_;
  const std::int64_t limit_millis_;
  const std::thread::id thread_ = std::this_thread::get_id();
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();  // guarded as the next one
  bool was_aborted_ = false;  // guarded by the list's mutex
};

void abort_overdue_queries(const QueryWatchdog::Limits& limits);
/// The age of the oldest query among the transactions with the store's server.
std::int64_t oldest_active_query_millis();
/// Between two statements of a long transaction of this thread: its limits count from now on.
void renew_active_query();

// Holds one read to ReadLimit. Included by schema/'s .cpp files only.

/// From its construction on, statements of the session are interrupted once `millis` have passed. 0: no
/// limit. On PostgreSQL it counts for each statement, and for the rest of the transaction.
class ReadDeadline {
 public:
  ReadDeadline(soci::session& session, std::int64_t millis);
  ~ReadDeadline();
  ReadDeadline(const ReadDeadline&) = delete;
  ReadDeadline& operator=(const ReadDeadline&) = delete;

 private:
  static int has_passed(void* deadline);

  soci::session& session_;
  const bool is_sqlite_;  ///< and limited
  const std::chrono::steady_clock::time_point ends_at_;
};

/// The error is that of an interrupted statement.
bool is_interrupted(const soci::soci_error& error);

}  // namespace giftsync::sql
