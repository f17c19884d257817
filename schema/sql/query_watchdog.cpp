#include "schema/sql/query_watchdog.h"

#include <algorithm>
#include <chrono>

#include "platform/thread_name.h"
#include "schema/sql/active_query.h"

namespace giftsync::schema::sql {

QueryWatchdog::QueryWatchdog(Limits limits) : limits_(limits), thread_([this] { run(); }) {}

QueryWatchdog::~QueryWatchdog() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void QueryWatchdog::run() {
  platform::name_thread("query watchdog");
  constexpr std::int64_t kChecksPerLimit = 10;
  constexpr std::int64_t kLongestMillis = 500;  // some transactions have limits of seconds
  const std::chrono::milliseconds interval(std::clamp<std::int64_t>(
      std::min(limits_.store_millis, limits_.external_crm_millis) / kChecksPerLimit, 1, kLongestMillis));
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return stopping_; })) abort_overdue_queries(limits_);
}

std::int64_t oldest_store_query_millis() {
  return oldest_active_query_millis();
}

}  // namespace giftsync::schema::sql
