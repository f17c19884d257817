#include "schema/sql/query_watchdog.h"

#include <sys/socket.h>

#include <algorithm>
#include <vector>

#include "platform/periodic_worker.h"
#include "schema/sql/session.h"

namespace giftsync::sql {

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
  name_thread("query watchdog");
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

namespace {

/// All of this program, in no order.
struct ActiveQueries {
  std::mutex mutex;
  std::vector<ActiveQuery*> all;  // guarded by mutex
};
ActiveQueries& active_queries() {
  static ActiveQueries queries;
  return queries;
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

void renew_active_query() {
  const std::lock_guard lock(active_queries().mutex);
  for (ActiveQuery* const one : active_queries().all) {
    if (one->thread_ == std::this_thread::get_id()) one->since_ = std::chrono::steady_clock::now();
  }
}

namespace {

/// Steps of SQLite's virtual machine: less than a millisecond.
constexpr int kStepsBetweenLooks = 10'000;

sqlite_api::sqlite3* connection_of(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

}  // namespace

ReadDeadline::ReadDeadline(soci::session& session, std::int64_t millis)
    : session_(session),
      is_sqlite_(millis > 0 && Session::of(session).is_sqlite()),
      ends_at_(std::chrono::steady_clock::now() + std::chrono::milliseconds(millis)) {
  if (is_sqlite_)
    sqlite_api::sqlite3_progress_handler(connection_of(session), kStepsBetweenLooks, has_passed, this);
  else if (millis > 0)
    session << "SET LOCAL statement_timeout TO " + std::to_string(millis);
}

ReadDeadline::~ReadDeadline() {
  if (is_sqlite_) sqlite_api::sqlite3_progress_handler(connection_of(session_), 0, nullptr, nullptr);
}

int ReadDeadline::has_passed(void* deadline) {
  return std::chrono::steady_clock::now() >= static_cast<const ReadDeadline*>(deadline)->ends_at_ ? 1 : 0;
}

bool is_interrupted(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error))
    return (sqlite->result() & 0xff) == SQLITE_INTERRUPT;
  const auto* postgresql = dynamic_cast<const soci::postgresql_soci_error*>(&error);
  return postgresql != nullptr && postgresql->sqlstate() == "57014";
}

}  // namespace giftsync::sql
