// How many rows each table of a store has: to show that nothing was written.
#pragma once

#include <memory>
#include <string>

#include "tests/support/temporary_database.h"

namespace giftsync::tests {

class RowCounts {
 public:
  explicit RowCounts(const sql::Dsn& address) : database_(open_database(address)) {
    const bool is_sqlite = address.dialect == sql::Dialect::sqlite;
    const std::string tables =
        is_sqlite ? "(SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name)"
                  : "(SELECT cast(tablename AS text) AS name FROM pg_tables WHERE schemaname = "
                    "current_schema() ORDER BY name)";
    query_ = "SELECT " +
             scalar(*database_, std::string("SELECT ") + (is_sqlite ? "group_concat(" : "string_agg(") +
                                    "'(SELECT count(*) FROM ' || name || ')', ' || '','' || ') FROM " +
                                    tables + " AS all_tables");
  }
  std::string now() { return scalar(*database_, query_); }

 private:
  std::shared_ptr<sql::Database> database_;
  std::string query_;
};

}  // namespace giftsync::tests
