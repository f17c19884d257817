// schema/sql: the transactions that wait for a PostgreSQL server; see schema/sql/query_watchdog.h.
// Included by schema/'s .cpp files only.
#pragma once

#include <chrono>
#include <cstdint>

#include "schema/sql/query_watchdog.h"

namespace giftsync::schema::sql {

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

  const int socket_;
  const bool is_external_crm_;
  const std::int64_t limit_millis_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  bool was_aborted_ = false;  // guarded by the list's mutex
};

void abort_overdue_queries(const QueryWatchdog::Limits& limits);
/// Of the transactions with the store's server.
std::int64_t oldest_active_query_millis();

}  // namespace giftsync::schema::sql
