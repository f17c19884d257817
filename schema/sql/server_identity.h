// schema/sql: which PostgreSQL cluster a connection leads to, so that a restored copy or an old primary that
// came back is distinguished from the server in use (ARCH-42). Included by schema/'s .cpp files only.
#pragma once

#include <soci/soci.h>

#include <cstdint>
#include <optional>
#include <string>

namespace giftsync::schema::sql {

struct ServerIdentity {
  std::string system_identifier;  ///< the same on all standbys; initdb and pg_upgrade make another one
  std::int64_t timeline = 0;      ///< grows with each promotion
  bool operator==(const ServerIdentity&) const = default;
};

/// Of a PostgreSQL session outside of a transaction. Nullopt when the server does not tell: another engine,
/// or the role lacks the right. Throws a transient platform::DependencyError for a standby that is not
/// promoted, and soci::soci_error when the connection breaks.
std::optional<ServerIdentity> read_server_identity(soci::session& session);

}  // namespace giftsync::schema::sql
