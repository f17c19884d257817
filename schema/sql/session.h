// schema/sql: one connection, with the frequent statements prepared once. Every soci::session of the
// program is a Session. Included by schema/'s .cpp files only.
#pragma once

#include <soci/postgresql/soci-postgresql.h>
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include <memory>
#include <string>
#include <unordered_map>

namespace giftsync::sql {

class Session : public soci::session {
 public:
  using soci::session::session;

  static Session& of(soci::session& session) { return static_cast<Session&>(session); }

  bool is_sqlite() const { return is_sqlite_; }

  /// Set by its Database before each work: what changes a gift marks it for the feed (Database::keep_feed).
  bool keeps_feed = false;

  /// No transaction is open.
  bool is_idle();

  /// The socket of the connection to PostgreSQL; -1 with SQLite.
  int socket();

  /// SQLite only: the statement of this text, prepared at the first call and cached with the
  /// connection. The caller resets it. Valid until the next call, which may evict it. Throws
  /// soci::sqlite3_soci_error.
  sqlite_api::sqlite3_stmt* prepared_statement(const std::string& text);

  /// PostgreSQL only: the name of the statement of this text, prepared at the first call and stored by
  /// the server with the connection. Throws soci::postgresql_soci_error.
  const std::string& prepared_name(const std::string& text);

 private:
  const bool is_sqlite_ = get_backend_name() == "sqlite3";
  struct Finalize {
    void operator()(sqlite_api::sqlite3_stmt* statement) const { sqlite_api::sqlite3_finalize(statement); }
  };
  std::unordered_map<std::string, std::unique_ptr<sqlite_api::sqlite3_stmt, Finalize>> statements_;
  std::unordered_map<std::string, std::string> names_;
};

// Throws the connection's last fault, as SOCI would.
[[noreturn]] void throw_sqlite_error(sqlite_api::sqlite3* connection, int result);
[[noreturn]] void throw_postgresql_error(PGconn* connection, const PGresult* result);

}  // namespace giftsync::sql
