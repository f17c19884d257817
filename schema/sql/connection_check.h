// schema/sql: a check that each new connection to a PostgreSQL database has to pass before it is used.
// Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::sql {

/// While it exists, `check` sees each connection that this program makes to the database at `dsn`, and throws
/// a DependencyError to refuse it. Connections that exist already are not checked. Any thread.
class ConnectionCheck {
 public:
  using Check = std::function<void(soci::session&)>;
  ConnectionCheck(Dsn dsn, Check check);
  ~ConnectionCheck();
  ConnectionCheck(const ConnectionCheck&) = delete;
  ConnectionCheck& operator=(const ConnectionCheck&) = delete;

 private:
  friend void check_new_connection(const Dsn& dsn, soci::session& session);
  const Dsn dsn_;
  const Check check_;
};

/// Runs the checks of this database. Throws what they throw.
void check_new_connection(const Dsn& dsn, soci::session& session);

// Tells whether a connection pooler gives each transaction another PostgreSQL session. Sessions
// keep prepared statements and settings, so such a pooler cannot be used (ARCH-43).

/// Why the pooler in front of this database cannot be used; nullopt for a direct connection, a pooler that
/// pools by session, and SQLite. Opens at most two connections and changes nothing. Throws a transient
/// DependencyError when the database does not respond.
std::optional<std::string> pooling_fault(const Dsn& dsn);

// Which PostgreSQL cluster a connection leads to, so that a restored copy or an old primary that
// came back is distinguished from the server in use (ARCH-42). Included by schema/'s .cpp files only.

struct ServerIdentity {
  std::string system_identifier;  ///< the same on all standbys; initdb and pg_upgrade make another one
  std::int64_t timeline = 0;      ///< grows with each promotion
  bool operator==(const ServerIdentity&) const = default;
};

/// Asks a PostgreSQL session outside of a transaction. Nullopt when the server does not say: another engine,
/// or the role lacks the right. Throws a transient DependencyError for a standby that is not
/// promoted, and soci::soci_error when the connection breaks.
std::optional<ServerIdentity> read_server_identity(soci::session& session);

}  // namespace giftsync::sql
