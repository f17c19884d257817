// Counts what a call costs at the store's database: round trips of PostgreSQL, statements of SQLite.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "schema/sql/database.h"
#include "schema/sql/session.h"

namespace giftsync::tests {

class RoundTrips {
 public:
  /// Of `work`, which uses the store of that dsn in this thread only, so that it gets the watched connection.
  static std::size_t of(const sql::Dsn& dsn, const std::function<void()>& work) {
    RoundTrips round_trips(dsn);
    work();
    return round_trips.count();
  }

 private:
  explicit RoundTrips(const sql::Dsn& dsn) : database_(sql::Database::shared(dsn)) {
    with_session([this](sql::Session& session) {
      if (session.is_sqlite())
        sqlite_api::sqlite3_trace_v2(sqlite_of(session), SQLITE_TRACE_STMT, &count_statement, &statements_);
      else
        PQtrace(postgresql_of(session), messages_.get());
    });
  }
  ~RoundTrips() {
    with_session([](sql::Session& session) {
      if (session.is_sqlite())
        sqlite_api::sqlite3_trace_v2(sqlite_of(session), 0, nullptr, nullptr);
      else
        PQuntrace(postgresql_of(session));
    });
  }
  RoundTrips(const RoundTrips&) = delete;
  RoundTrips& operator=(const RoundTrips&) = delete;

  void with_session(const std::function<void(sql::Session&)>& work) {
    database_->read([&](soci::session& session) { work(sql::Session::of(session)); });
  }
  static sqlite_api::sqlite3* sqlite_of(sql::Session& session) {
    return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
  }
  static PGconn* postgresql_of(sql::Session& session) {
    return static_cast<soci::postgresql_session_backend*>(session.get_backend())->conn_;
  }
  static int count_statement(unsigned, void* statements, void*, void*) {
    ++*static_cast<std::size_t*>(statements);
    return 0;
  }

  /// The client waits for a response after each Query and each Sync.
  std::size_t count() {
    std::rewind(messages_.get());
    std::size_t count = statements_;
    std::string line;
    for (int c = std::fgetc(messages_.get()); c != EOF; c = std::fgetc(messages_.get())) {
      if (c != '\n') {
        line += static_cast<char>(c);
        continue;
      }
      const bool is_of_client = line.find("\tF\t") != std::string::npos;
      if (is_of_client && (line.ends_with("\tSync") || line.find("\tQuery\t") != std::string::npos)) ++count;
      line.clear();
    }
    return count;
  }

  const std::shared_ptr<sql::Database> database_;
  std::size_t statements_ = 0;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> messages_{std::tmpfile(), &std::fclose};
};

}  // namespace giftsync::tests
