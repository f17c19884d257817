// schema: where a database is.
#pragma once

#include <string>

namespace giftsync::schema {

enum class Dialect { sqlite, postgresql };

struct DatabaseAddress {
  Dialect dialect = Dialect::sqlite;
  std::string connection;  ///< sqlite: the file's path; postgresql: a libpq connection string
};

}  // namespace giftsync::schema
