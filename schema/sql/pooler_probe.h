// schema/sql: tells whether a connection pooler gives each transaction another PostgreSQL session. Sessions
// keep prepared statements and settings, so such a pooler cannot be used (ARCH-43).
#pragma once

#include <optional>
#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::schema::sql {

/// Why the pooler in front of this database cannot be used; nullopt for a direct connection, a pooler that
/// pools by session, and SQLite. Opens at most two connections and changes nothing. Throws a transient
/// platform::DependencyError when the database does not respond.
std::optional<std::string> pooling_fault(const Dsn& dsn);

}  // namespace giftsync::schema::sql
