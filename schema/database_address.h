// schema: where a database is.
#pragma once

#include <string>

namespace giftsync::schema {

enum class Dialect { sqlite, postgresql };

struct DatabaseAddress {
  Dialect dialect = Dialect::sqlite;
  std::string connection;     ///< sqlite: the file's path; postgresql: a libpq connection string
  std::string password = {};  ///< postgresql only: beside the connection string, never in it
  /// The database of a CRM that someone else owns: nothing of the database itself is set (SQLite's journal
  /// mode), and its faults say whose they are.
  bool foreign = false;
};

}  // namespace giftsync::schema
