#include "schema/sql/session.h"

#include <cstdint>
#include <string_view>

namespace giftsync::schema::sql {

using namespace sqlite_api;  // where SOCI keeps what sqlite3.h declares

namespace {

/// Texts are made from a few tables and column lists, so there are some dozens of them; a limit all the same.
constexpr std::size_t kMostKept = 200;

/// The same text has the same name in every connection, another text another one: behind a pooler the
/// server's connection may be somebody else's.
std::string name_of(std::string_view text) {
  std::string name = "giftsync_kept";
  for (std::uint64_t hash : {14695981039346656037u, 9600629759793949339u}) {  // FNV-1a, begun at two places
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    name += "_" + std::to_string(hash);
  }
  return name;
}

}  // namespace

sqlite3_stmt* Session::kept_statement(const std::string& text) {
  if (const auto kept = statements_.find(text); kept != statements_.end()) return kept->second.get();
  sqlite3* connection = static_cast<soci::sqlite3_session_backend*>(get_backend())->conn_;
  sqlite3_stmt* statement = nullptr;
  const int result = sqlite3_prepare_v3(connection, text.c_str(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (result != SQLITE_OK) throw_sqlite_error(connection, result);
  // None of them is in use: KeptQuery and BulkRows, which alone ask for them, run one to its end and let it
  // go before the next is asked for. What they call for each row keeps the row and asks the session nothing.
  if (statements_.size() == kMostKept) statements_.clear();
  return statements_.emplace(text, statement).first->second.get();
}

bool Session::is_at_rest() {
  if (is_sqlite())
    return sqlite3_get_autocommit(static_cast<soci::sqlite3_session_backend*>(get_backend())->conn_) != 0;
  return PQtransactionStatus(static_cast<soci::postgresql_session_backend*>(get_backend())->conn_) ==
         PQTRANS_IDLE;
}

int Session::socket() {
  return is_sqlite() ? -1 : PQsocket(static_cast<soci::postgresql_session_backend*>(get_backend())->conn_);
}

const std::string& Session::kept_name(const std::string& text) {
  if (const auto kept = names_.find(text); kept != names_.end()) return kept->second;
  PGconn* connection = static_cast<soci::postgresql_session_backend*>(get_backend())->conn_;
  const std::string name = name_of(text);
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

}  // namespace giftsync::schema::sql
