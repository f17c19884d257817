#include "schema/sql/long_statement.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <memory>

#include "schema/sql/query_watchdog.h"
#include "schema/sql/session.h"

namespace giftsync::sql {
namespace {

constexpr int kLookMillis = 250;
/// Steps of SQLite's virtual machine: less than a millisecond.
constexpr int kStepsBetweenLooks = 10'000;

/// Calls should_run() from SQLite's progress handler while it exists.
class SqliteLooks {
 public:
  SqliteLooks(sqlite_api::sqlite3* connection, const std::function<bool()>& should_run)
      : connection_(connection), should_run_(should_run) {
    sqlite_api::sqlite3_progress_handler(connection_, kStepsBetweenLooks, look, this);
  }
  ~SqliteLooks() { sqlite_api::sqlite3_progress_handler(connection_, 0, nullptr, nullptr); }
  SqliteLooks(const SqliteLooks&) = delete;
  SqliteLooks& operator=(const SqliteLooks&) = delete;
  bool was_stopped() const { return was_stopped_; }

 private:
  static int look(void* looks) {
    auto& self = *static_cast<SqliteLooks*>(looks);
    const auto now = std::chrono::steady_clock::now();
    if (now < self.next_) return 0;
    self.next_ = now + std::chrono::milliseconds(kLookMillis);
    self.was_stopped_ = !self.should_run_();
    return self.was_stopped_ ? 1 : 0;
  }

  sqlite_api::sqlite3* const connection_;
  const std::function<bool()>& should_run_;
  std::chrono::steady_clock::time_point next_{};
  bool was_stopped_ = false;
};

void run_on_sqlite(soci::session& session, const std::string& statement,
                   const std::function<bool()>& should_run) {
  const SqliteLooks looks(static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_,
                          should_run);
  try {
    session << statement;
  } catch (const soci::soci_error&) {
    if (looks.was_stopped()) throw StatementStopped();
    throw;
  }
}

void cancel(PGconn* connection) {
  const std::unique_ptr<PGcancel, decltype(&PQfreeCancel)> request(PQgetCancel(connection), PQfreeCancel);
  std::array<char, 256> ignored_error{};
  if (request) PQcancel(request.get(), ignored_error.data(), static_cast<int>(ignored_error.size()));
}

/// Once it was cancelled the watchdog's limit counts again: a server that does not answer would keep a daemon
/// from its stop.
void run_on_postgresql(PGconn* connection, const std::string& statement,
                       const std::function<bool()>& should_run) {
  if (PQsendQuery(connection, statement.c_str()) == 0) throw_postgresql_error(connection, nullptr);
  bool was_stopped = false;
  while (PQisBusy(connection) != 0) {
    pollfd answer{PQsocket(connection), POLLIN, 0};
    ::poll(&answer, 1, kLookMillis);
    if (PQconsumeInput(connection) == 0) throw_postgresql_error(connection, nullptr);
    if (was_stopped || PQisBusy(connection) == 0)
      continue;  // a late cancellation would meet the next statement
    renew_active_query();
    was_stopped = !should_run();
    if (was_stopped) cancel(connection);
  }
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
  Result failed(nullptr, PQclear);
  for (Result result(PQgetResult(connection), PQclear); result; result.reset(PQgetResult(connection)))
    if (PQresultStatus(result.get()) != PGRES_COMMAND_OK) failed = std::move(result);
  if (!failed) return;
  if (was_stopped) throw StatementStopped();
  const char* state = PQresultErrorField(failed.get(), PG_DIAG_SQLSTATE);
  throw soci::postgresql_soci_error(PQresultErrorMessage(failed.get()), state ? state : "     ");
}

}  // namespace

void run_long_statement(soci::session& session, const std::string& statement,
                        const std::function<bool()>& should_run) {
  if (Session::of(session).is_sqlite()) return run_on_sqlite(session, statement, should_run);
  run_on_postgresql(static_cast<soci::postgresql_session_backend*>(session.get_backend())->conn_, statement,
                    should_run);
}

}  // namespace giftsync::sql
