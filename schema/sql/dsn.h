// schema/sql: the location of a database.
#pragma once

#include <compare>
#include <optional>
#include <string>

namespace soci {
class session;
}

namespace giftsync::sql {

/// The back end whose SQL a statement is written in. A session stands for its own, so what needs a dialect
/// takes a session.
struct Dialect {
  enum Name { sqlite, postgresql };
  constexpr Dialect(Name dialect) : name(dialect) {}
  Dialect(soci::session& session);
  friend constexpr auto operator<=>(Dialect, Dialect) = default;

  Name name;
};

struct Dsn {
  Dialect dialect = Dialect::sqlite;
  std::string connection;     ///< sqlite: the file's path; postgresql: a libpq connection string
  std::string password = {};  ///< postgresql only: separate from the connection string
  /// An external CRM's database: giftsync sets nothing in the database itself (SQLite's journal mode),
  /// and its errors name the CRM.
  bool is_external_crm = false;
};

// Checks the syntax of a PostgreSQL connection string without connecting. Pure.

/// libpq's error message on one line; nothing when the text is a valid connection string or URI. The
/// message may quote the text, including a password.
std::optional<std::string> postgresql_dsn_error(const std::string& connection);

/// Why a valid connection string that names several hosts does not lead to the primary among them, and what
/// to do; nothing when it does, or names one host. Quotes nothing of the text.
std::optional<std::string> several_hosts_fault(const std::string& connection);

// Connects to PostgreSQL through SOCI 4.0. SOCI splits a connection string at white space and
// joins it with single blanks, also inside a quoted password (a URI has none), and it leaks a connection
// that breaks at its first command. Included by schema/'s .cpp files only.

/// A URI equivalent to the dsn. Where the dsn sets nothing, the URI limits connecting to 10 s and detects
/// a network that drops all packets within a minute. Throws DependencyError when libpq cannot parse the
/// connection string.
std::string postgresql_uri(const Dsn& dsn);

/// Opens a connection, runs one query and closes it. A server that shuts down, or a pooler whose server
/// is away, accepts a connection and breaks it at the first command: SOCI would leak 37 KB each time
/// while the outage lasts. Throws soci::soci_error.
void probe_connection(const std::string& uri, bool is_external_crm);

}  // namespace giftsync::sql
