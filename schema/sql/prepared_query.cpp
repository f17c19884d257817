#include "schema/sql/prepared_query.h"

#include <soci/postgresql/soci-postgresql.h>

#include <charconv>
#include <cstdlib>

#include "schema/sql/session.h"

namespace giftsync::sql {

using namespace sqlite_api;  // SOCI's namespace for the declarations of sqlite3.h

/// One of the two back ends: the other's members stay null.
struct PreparedQuery::Rows {
  Session& session;
  std::string text;
  std::vector<std::string> parameters;
  sqlite3_stmt* statement = nullptr;
  PGconn* connection = nullptr;
  std::unique_ptr<PGresult, decltype(&PQclear)> result{nullptr, &PQclear};
  int row = -1;
};

namespace {

/// PostgreSQL numbers its parameters. No name is the beginning of another one.
std::string numbered(std::string text, const std::vector<std::string>& parameters) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const std::string name = ":" + parameters[i];
    const std::string number = "$" + std::to_string(i + 1);
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += number.size())
      text.replace(at, name.size(), number);
  }
  return text;
}

}  // namespace

PreparedQuery::PreparedQuery(soci::session& session, const std::string& text,
                             std::vector<std::string> parameters)
    : rows_(new Rows{Session::of(session), text, std::move(parameters)}) {
  if (rows_->session.is_sqlite()) {
    rows_->statement = rows_->session.prepared_statement(rows_->text);
  } else {
    rows_->text = numbered(text, rows_->parameters);
    rows_->connection = static_cast<soci::postgresql_session_backend*>(session.get_backend())->conn_;
  }
}

/// A SELECT that is not reset retains its snapshot.
PreparedQuery::~PreparedQuery() {
  if (!rows_->statement) return;
  sqlite3_reset(rows_->statement);
  sqlite3_clear_bindings(rows_->statement);
}

void PreparedQuery::run(const std::vector<std::string>& values) {
  if (values.size() != rows_->parameters.size()) std::abort();  // a bug: the caller's names and values differ
  if (rows_->statement) {
    sqlite3_reset(rows_->statement);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int index = sqlite3_bind_parameter_index(rows_->statement, (":" + rows_->parameters[i]).c_str());
      const int result = sqlite3_bind_text64(rows_->statement, index, values[i].data(), values[i].size(),
                                             SQLITE_STATIC, SQLITE_UTF8);
      if (result != SQLITE_OK) throw_sqlite_error(sqlite3_db_handle(rows_->statement), result);
    }
    return;
  }
  std::vector<const char*> texts;
  for (const std::string& value : values) texts.push_back(value.c_str());
  rows_->row = -1;
  rows_->result.reset(PQexecPrepared(rows_->connection, rows_->session.prepared_name(rows_->text).c_str(),
                                     static_cast<int>(texts.size()), texts.data(), nullptr, nullptr, 0));
  if (PQresultStatus(rows_->result.get()) != PGRES_TUPLES_OK)
    throw_postgresql_error(rows_->connection, rows_->result.get());
}

bool PreparedQuery::next() {
  if (rows_->result) return ++rows_->row < PQntuples(rows_->result.get());
  const int result = sqlite3_step(rows_->statement);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  throw_sqlite_error(sqlite3_db_handle(rows_->statement), result);
}

std::string_view PreparedQuery::text(int column) const {
  if (rows_->result) {
    return {PQgetvalue(rows_->result.get(), rows_->row, column),
            static_cast<std::size_t>(PQgetlength(rows_->result.get(), rows_->row, column))};
  }
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(rows_->statement, column));
  if (bytes) return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(rows_->statement, column))};
  if (!is_null(column)) throw_sqlite_error(sqlite3_db_handle(rows_->statement), SQLITE_NOMEM);
  return {};
}

std::int64_t PreparedQuery::integer(int column) const {
  if (rows_->statement) return sqlite3_column_int64(rows_->statement, column);
  const std::string_view digits = text(column);
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

bool PreparedQuery::is_null(int column) const {
  return rows_->result ? PQgetisnull(rows_->result.get(), rows_->row, column) != 0
                       : sqlite3_column_type(rows_->statement, column) == SQLITE_NULL;
}

}  // namespace giftsync::sql
