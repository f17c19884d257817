#include "schema/sql/kept_query.h"

#include <soci/postgresql/soci-postgresql.h>

#include <charconv>

#include "schema/sql/session.h"

namespace giftsync::schema::sql {

using namespace sqlite_api;  // where SOCI keeps what sqlite3.h declares

/// One of the two back ends: the other's members stay null.
struct KeptQuery::Rows {
  Session& session;
  std::string text;
  sqlite3_stmt* statement = nullptr;
  PGconn* connection = nullptr;
  std::unique_ptr<PGresult, decltype(&PQclear)> result{nullptr, &PQclear};
  int row = -1;
};

namespace {

/// PostgreSQL numbers its parameters.
std::string numbered(std::string text) {
  if (const std::size_t at = text.find(":list"); at != std::string::npos) text.replace(at, 5, "$1");
  return text;
}

}  // namespace

KeptQuery::KeptQuery(soci::session& session, const std::string& text)
    : rows_(new Rows{Session::of(session), Session::of(session).is_sqlite() ? text : numbered(text)}) {
  if (rows_->session.is_sqlite()) {
    rows_->statement = rows_->session.kept_statement(rows_->text);
  } else {
    rows_->connection = static_cast<soci::postgresql_session_backend*>(session.get_backend())->conn_;
  }
}

/// A SELECT that is not reset keeps its snapshot.
KeptQuery::~KeptQuery() {
  if (!rows_->statement) return;
  sqlite3_reset(rows_->statement);
  sqlite3_clear_bindings(rows_->statement);
}

void KeptQuery::run(const std::string& list) {
  if (rows_->statement) {
    sqlite3_reset(rows_->statement);
    const int place = sqlite3_bind_parameter_index(rows_->statement, ":list");
    const auto bytes = static_cast<sqlite3_uint64>(list.size());
    const int result = place == 0 ? SQLITE_OK
                                  : sqlite3_bind_text64(rows_->statement, place, list.data(), bytes,
                                                        SQLITE_STATIC, SQLITE_UTF8);
    if (result != SQLITE_OK) throw_sqlite_error(sqlite3_db_handle(rows_->statement), result);
    return;
  }
  const int parameters = rows_->text.find("$1") == std::string::npos ? 0 : 1;
  const char* const values[] = {list.c_str()};
  rows_->row = -1;
  rows_->result.reset(PQexecPrepared(rows_->connection, rows_->session.kept_name(rows_->text).c_str(),
                                     parameters, values, nullptr, nullptr, 0));
  if (PQresultStatus(rows_->result.get()) != PGRES_TUPLES_OK)
    throw_postgresql_error(rows_->connection, rows_->result.get());
}

bool KeptQuery::next() {
  if (rows_->result) return ++rows_->row < PQntuples(rows_->result.get());
  const int result = sqlite3_step(rows_->statement);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  throw_sqlite_error(sqlite3_db_handle(rows_->statement), result);
}

std::string_view KeptQuery::text(int column) const {
  if (rows_->result) {
    return {PQgetvalue(rows_->result.get(), rows_->row, column),
            static_cast<std::size_t>(PQgetlength(rows_->result.get(), rows_->row, column))};
  }
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(rows_->statement, column));
  if (bytes) return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(rows_->statement, column))};
  if (!is_absent(column)) throw_sqlite_error(sqlite3_db_handle(rows_->statement), SQLITE_NOMEM);
  return {};
}

std::int64_t KeptQuery::integer(int column) const {
  if (rows_->statement) return sqlite3_column_int64(rows_->statement, column);
  const std::string_view digits = text(column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool KeptQuery::is_absent(int column) const {
  return rows_->result ? PQgetisnull(rows_->result.get(), rows_->row, column) != 0
                       : sqlite3_column_type(rows_->statement, column) == SQLITE_NULL;
}

}  // namespace giftsync::schema::sql
