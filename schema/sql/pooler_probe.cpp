#include "schema/sql/pooler_probe.h"

#include <libpq-fe.h>

#include <memory>
#include <string_view>

#include "platform/dependency_error.h"
#include "platform/text.h"
#include "schema/sql/active_query.h"
#include "schema/sql/postgresql_dsn.h"

namespace giftsync::schema::sql {
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
    throw platform::DependencyError(true,
                                    "the database cannot be reached: " +
                                        std::string(platform::trimmed(PQerrorMessage(connection_.get()))),
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
  Connection one(dsn);
  const std::string first = one.backend();
  if (first == one.announced_backend()) return std::nullopt;
  Connection other(dsn);
  std::string second;
  for (int round = 0; round < kRounds; ++round) {
    if (const std::string now = one.backend(); now != first)
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

}  // namespace giftsync::schema::sql
