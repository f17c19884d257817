#include "schema/sql/connection_check.h"

#include <libpq-fe.h>
#include <soci/postgresql/soci-postgresql.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "platform/dependency_error.h"
#include "platform/text.h"
#include "schema/sql/query_watchdog.h"

namespace giftsync::sql {
namespace {

/// All of this program, in no order.
struct ConnectionChecks {
  std::mutex mutex;
  std::vector<const ConnectionCheck*> all;  // guarded by mutex
};
ConnectionChecks& connection_checks() {
  static ConnectionChecks checks;
  return checks;
}

bool is_same_database(const Dsn& dsn, const Dsn& other) {
  return dsn.dialect == other.dialect && dsn.connection == other.connection &&
         dsn.password == other.password && dsn.is_external_crm == other.is_external_crm;
}

}  // namespace

ConnectionCheck::ConnectionCheck(Dsn dsn, Check check) : dsn_(std::move(dsn)), check_(std::move(check)) {
  const std::lock_guard lock(connection_checks().mutex);
  connection_checks().all.push_back(this);
}

ConnectionCheck::~ConnectionCheck() {
  const std::lock_guard lock(connection_checks().mutex);
  std::erase(connection_checks().all, this);
}

/// The checks run without the mutex: they wait for the server.
void check_new_connection(const Dsn& dsn, soci::session& session) {
  std::vector<ConnectionCheck::Check> checks;
  {
    const std::lock_guard lock(connection_checks().mutex);
    for (const ConnectionCheck* const one : connection_checks().all) {
      if (is_same_database(one->dsn_, dsn)) checks.push_back(one->check_);
    }
  }
  for (const ConnectionCheck::Check& check : checks) check(session);
}

namespace {

/// A pooler may assign its connections in turn, and other programs use them meanwhile.
constexpr int kRounds = 8;

class Connection {
 public:
  explicit Connection(const Dsn& dsn)
      : dsn_(dsn), connection_(PQconnectdb(postgresql_uri(dsn).c_str()), &PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) fail();
  }

  /// False when the pooler refuses the statement; PgBouncer ends the connection with that.
  bool run(const char* statement) {
    const Result result = execute(statement);
    if (PQresultStatus(result.get()) == PGRES_COMMAND_OK) return true;
    const bool is_refused =
        std::string_view(PQerrorMessage(connection_.get())).find("pooling mode") != std::string_view::npos;
    if (!is_refused && PQstatus(connection_.get()) != CONNECTION_OK) fail();
    return false;
  }

  /// The process that serves the next transaction, or the present one.
  std::string backend() {
    const Result result = execute("SELECT pg_backend_pid()");
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) fail();
    return PQgetvalue(result.get(), 0, 0);
  }

  /// What the other side of the connection calls its process: a pooler makes up a number.
  std::string announced_backend() { return std::to_string(PQbackendPID(connection_.get())); }

 private:
  using Result = std::unique_ptr<PGresult, decltype(&PQclear)>;
  Result execute(const char* statement) {
    const ActiveQuery active(PQsocket(connection_.get()), dsn_.is_external_crm);
    return {PQexec(connection_.get(), statement), &PQclear};
  }
  [[noreturn]] void fail() {
    throw DependencyError(
        true, "the database cannot be reached: " + std::string(trimmed(PQerrorMessage(connection_.get()))),
        dsn_.is_external_crm);
  }

  const Dsn& dsn_;
  std::unique_ptr<PGconn, decltype(&PQfinish)> connection_;
};

std::string fault(const std::string& evidence) {
  return "a connection pooler gives each transaction another server session (" + evidence +
         "), and giftsync's sessions keep prepared statements and settings; pool by session (PgBouncer: "
         "pool_mode = session), or connect to the server itself";
}

}  // namespace

std::optional<std::string> pooling_fault(const Dsn& dsn) {
  if (dsn.dialect != Dialect::postgresql) return std::nullopt;
  Connection connection(dsn);
  const std::string first = connection.backend();
  if (first == connection.announced_backend()) return std::nullopt;
  Connection other(dsn);
  std::string second;
  for (int round = 0; round < kRounds; ++round) {
    if (const std::string now = connection.backend(); now != first)
      return fault("one session was served by the processes " + first + " and " + now);
    if (!other.run("BEGIN")) return fault("it refuses transactions");
    const std::string now = other.backend();
    other.run("COMMIT");
    if (now == first) return fault("two sessions were served by the process " + now);
    if (!second.empty() && now != second)
      return fault("one session was served by the processes " + second + " and " + now);
    second = now;
  }
  return std::nullopt;
}

namespace {

/// pg_control_checkpoint() would give the timeline of the last checkpoint, which a promotion does not wait
/// for; a WAL file's name begins with the timeline in force. A standby has none.
constexpr const char* kIdentity =
    "SELECT cast(system_identifier as text), CASE WHEN pg_is_in_recovery() THEN '' ELSE "
    "pg_walfile_name(pg_current_wal_insert_lsn()) END FROM pg_control_system()";
constexpr std::size_t kTimelineDigits = 8;

bool does_not_tell(const soci::postgresql_soci_error& error) {
  constexpr const char* kMissingRight = "42501";
  constexpr const char* kNoFunction = "42883";
  constexpr const char* kNoTable = "42P01";
  const std::string state = error.sqlstate();
  return state == kMissingRight || state == kNoFunction || state == kNoTable || state == "0A000";
}

}  // namespace

std::optional<ServerIdentity> read_server_identity(soci::session& session) {
  std::string system_identifier;
  std::string wal_file;
  try {
    session << kIdentity, soci::into(system_identifier), soci::into(wal_file);
  } catch (const soci::postgresql_soci_error& error) {
    if (does_not_tell(error)) return std::nullopt;
    throw;
  }
  if (wal_file.empty())
    throw DependencyError(
        true,
        "the database server is a standby that is not promoted; with several hosts the connection string "
        "needs target_session_attrs=read-write");
  constexpr int kHexadecimal = 16;
  return ServerIdentity{system_identifier,
                        std::strtoll(wal_file.substr(0, kTimelineDigits).c_str(), nullptr, kHexadecimal)};
}

}  // namespace giftsync::sql
