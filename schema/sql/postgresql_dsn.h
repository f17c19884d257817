// schema/sql: connects to PostgreSQL through SOCI 4.0. SOCI splits a connection string at white space and
// joins it with single blanks, also inside a quoted password (a URI has none), and it leaks a connection
// that breaks at its first command. Included by schema/'s .cpp files only.
#pragma once

#include <string>

#include "schema/sql/dsn.h"

namespace giftsync::schema::sql {

/// A URI equivalent to the dsn. Where the dsn sets nothing, the URI limits connecting to 10 s and detects
/// a network that drops all packets within a minute. Throws DependencyError when libpq cannot parse the
/// connection string.
std::string postgresql_uri(const Dsn& dsn);

/// Opens a connection, runs one query and closes it. A server that shuts down, or a pooler whose server
/// is away, accepts a connection and breaks it at the first command: SOCI would leak 37 KB each time
/// while the outage lasts. Throws soci::soci_error.
void probe_connection(const std::string& uri, bool is_external_crm);

}  // namespace giftsync::schema::sql
