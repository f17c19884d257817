// schema/sql: how PostgreSQL is reached through SOCI 4.0, which takes a connection string apart at white
// space and puts it together again with single blanks, in the middle of a quoted password too (a URI has
// none), and which forgets a connection that breaks at its first command. Included by schema/'s .cpp files
// only.
#pragma once

#include <string>

#include "schema/database_address.h"

namespace giftsync::schema::sql {

/// A URI that says the same as the address, and, where that is silent, that a connection is made within 10 s
/// or not at all and that a network which swallows everything is noticed within a minute. Throws BrokenWorld
/// when libpq cannot read the connection string.
std::string postgresql_connection(const DatabaseAddress& address);

/// Makes a connection, asks one question and lets go of it. A server on its way down, or a pooler before a
/// server that is away, takes a connection and breaks it at the first command: SOCI would lose it, 37 KB each
/// time, for as long as the outage lasts. Throws soci::soci_error.
void require_answer(const std::string& uri, bool foreign);

}  // namespace giftsync::schema::sql
