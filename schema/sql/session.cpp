#include "schema/sql/session.h"

#include <cstdint>
#include <string_view>

#include "schema/sql/dsn.h"

namespace giftsync::sql {

using namespace sqlite_api;  // SOCI's namespace for the declarations of sqlite3.h

namespace {

/// Texts are built from a few tables and column lists, so there are only some dozens; this is a safety limit.
constexpr std::size_t kMaxPrepared = 200;

/// The name depends only on the text and is the same in every connection: behind a pooler, clients share the
/// server's connections.
std::string statement_name(std::string_view text) {
  std::string name = "giftsync_kept";
  for (std::uint64_t hash : {14695981039346656037u, 9600629759793949339u}) {  // FNV-1a, begun at two indexes
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    name += "_" + std::to_string(hash);
  }
  return name;
}

}  // namespace

sqlite3_stmt* Session::prepared_statement(const std::string& text) {
  if (const auto cached = statements_.find(text); cached != statements_.end()) return cached->second.get();
  sqlite3* connection = static_cast<soci::sqlite3_session_backend*>(get_backend())->conn_;
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(connection, text.c_str(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) throw_sqlite_error(connection, result);
  // None of them is in use: only PreparedQuery and BulkRows request them, and they run one to its end and
  // release it before the next request. Their per-row callbacks do not use the session.
  if (statements_.size() == kMaxPrepared) statements_.clear();
  return statements_.emplace(text, statement).first->second.get();
}

Dialect::Dialect(soci::session& session) : name(Session::of(session).is_sqlite() ? sqlite : postgresql) {}

bool Session::is_idle() {
  if (is_sqlite())
    return sqlite3_get_autocommit(static_cast<soci::sqlite3_session_backend*>(get_backend())->conn_) != 0;
  return PQtransactionStatus(static_cast<soci::postgresql_session_backend*>(get_backend())->conn_) ==
         PQTRANS_IDLE;
}

int Session::socket() {
  return is_sqlite() ? -1 : PQsocket(static_cast<soci::postgresql_session_backend*>(get_backend())->conn_);
}

const std::string& Session::prepared_name(const std::string& text) {
  if (const auto cached = names_.find(text); cached != names_.end()) return cached->second;
  PGconn* connection = static_cast<soci::postgresql_session_backend*>(get_backend())->conn_;
  const std::string name = statement_name(text);
  const std::unique_ptr<PGresult, decltype(&PQclear)> result(
      PQprepare(connection, name.c_str(), text.c_str(), 0, nullptr), &PQclear);
  const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  const bool is_there = state && std::string_view(state) == "42P05";  // a pooler gave us another's connection
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK && !is_there)
    throw_postgresql_error(connection, result.get());
  return names_.emplace(text, name).first->second;
}

void throw_sqlite_error(sqlite3* connection, int result) {
  throw soci::sqlite3_soci_error(sqlite3_errmsg(connection), result);
}

void throw_postgresql_error(PGconn* connection, const PGresult* result) {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  throw soci::postgresql_soci_error(PQerrorMessage(connection), state ? state : "     ");
}

}  // namespace giftsync::sql
