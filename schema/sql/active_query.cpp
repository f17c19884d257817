#include "schema/sql/active_query.h"

#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace giftsync::schema::sql {
namespace {

/// All of this program, in no order.
struct ActiveQueries {
  std::mutex mutex;
  std::vector<ActiveQuery*> all;  // guarded by mutex
};
ActiveQueries& active_queries() {
  static ActiveQueries one;
  return one;
}

std::int64_t millis_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - then)
      .count();
}

}  // namespace

ActiveQuery::ActiveQuery(int socket, bool is_external_crm, std::int64_t limit_millis)
    : socket_(socket), is_external_crm_(is_external_crm), limit_millis_(limit_millis) {
  if (socket_ < 0) return;
  const std::lock_guard lock(active_queries().mutex);
  active_queries().all.push_back(this);
}

ActiveQuery::~ActiveQuery() {
  if (socket_ < 0) return;
  const std::lock_guard lock(active_queries().mutex);
  std::erase(active_queries().all, this);
}

bool ActiveQuery::was_aborted() const {
  const std::lock_guard lock(active_queries().mutex);
  return was_aborted_;
}

/// Under the mutex, so that the socket is still its connection's.
void abort_overdue_queries(const QueryWatchdog::Limits& limits) {
  const std::lock_guard lock(active_queries().mutex);
  for (ActiveQuery* const one : active_queries().all) {
    const std::int64_t all = one->is_external_crm_ ? limits.external_crm_millis : limits.store_millis;
    const std::int64_t limit = one->limit_millis_ > 0 ? std::min(one->limit_millis_, all) : all;
    if (one->was_aborted_ || millis_since(one->since_) < limit) continue;
    ::shutdown(one->socket_, SHUT_RDWR);
    one->was_aborted_ = true;
  }
}

std::int64_t oldest_active_query_millis() {
  const std::lock_guard lock(active_queries().mutex);
  std::int64_t oldest = 0;
  for (const ActiveQuery* const one : active_queries().all) {
    if (!one->is_external_crm_) oldest = std::max(oldest, millis_since(one->since_));
  }
  return oldest;
}

}  // namespace giftsync::schema::sql
