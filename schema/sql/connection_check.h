// schema/sql: a check that each new connection to a PostgreSQL database has to pass before it is used.
// Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <functional>

#include "schema/sql/dsn.h"

namespace giftsync::schema::sql {

/// While it exists, `check` sees each connection that this program makes to the database at `dsn`, and throws
/// a platform::DependencyError to refuse it. Connections that exist already are not checked. Any thread.
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

}  // namespace giftsync::schema::sql
