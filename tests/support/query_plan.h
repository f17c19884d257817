// tests/support: the plan that a database makes for a query, as one text.
#pragma once

#include <soci/soci.h>

#include <string>

#include "schema/sql/database.h"
#include "schema/sql/queries.h"

namespace giftsync::tests {

/// With the indexes that a large table needs: PostgreSQL would scan and sort a small one.
inline std::string plan_of(sql::Database& database, const std::string& select) {
  return database.write([&](soci::session& session) {
    std::string text;
    if (database.dialect() == sql::Dialect::postgresql) {
      for (const char* way : {"enable_seqscan", "enable_bitmapscan", "enable_sort"})
        session << "SET LOCAL " + std::string(way) + " = off";
      for (const std::string& line : sql::select_column<std::string>(session, "EXPLAIN " + select))
        text += line + "\n";
      return text;
    }
    const soci::rowset<soci::row> rows = session.prepare << "EXPLAIN QUERY PLAN " + select;
    for (const soci::row& row : rows) text += row.get<std::string>(3) + "\n";
    return text;
  });
}

}  // namespace giftsync::tests
