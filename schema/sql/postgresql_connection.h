// schema/sql: a libpq connection string in the one form that SOCI leaves as it is. SOCI 4.0 takes a string
// apart at white space and puts it together again with single blanks, in the middle of a quoted password too;
// a URI has none. Included by schema/'s .cpp files only.
#pragma once

#include <string>

#include "schema/database_address.h"

namespace giftsync::schema::sql {

/// A URI that says the same as the address. Throws BrokenWorld when libpq cannot read the connection string.
std::string postgresql_connection(const DatabaseAddress& address);

}  // namespace giftsync::schema::sql
