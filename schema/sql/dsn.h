// schema/sql: the location of a database.
#pragma once

#include <string>

namespace giftsync::schema::sql {

enum class Dialect { sqlite, postgresql };

struct Dsn {
  Dialect dialect = Dialect::sqlite;
  std::string connection;     ///< sqlite: the file's path; postgresql: a libpq connection string
  std::string password = {};  ///< postgresql only: separate from the connection string
  /// An external CRM's database: giftsync sets nothing in the database itself (SQLite's journal mode),
  /// and its errors name the CRM.
  bool is_external_crm = false;
};

}  // namespace giftsync::schema::sql
