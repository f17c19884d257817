// schema/store: bounded counts as SQL. Included by this folder's .cpp files only.
#pragma once

#include <string>

#include "schema/sql/queries.h"
#include "schema/store/statements/bounded_count.h"

namespace giftsync::store {

/// "SELECT count(*) ..." that reads at most kMaxCounted + 1 rows of "table WHERE condition". An index has to
/// serve the condition where few of many rows fulfil it.
inline std::string bounded_count_query(const std::string& rows) {
  return "SELECT count(*) FROM (SELECT 1 FROM " + rows + " LIMIT " + std::to_string(kMaxCounted + 1) +
         ") counted";
}

template <class... Exchanged>
std::int64_t count_bounded(soci::session& session, const std::string& rows, Exchanged&&... exchanged) {
  return sql::select_value<std::int64_t>(session, bounded_count_query(rows), exchanged...);
}

}  // namespace giftsync::store
