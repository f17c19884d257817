// schema/store: the counts of gift codes by item, as SQL. It finds the items one by one in an index and stops
// counting the codes of each (OPS-33). Included by this folder's .cpp files and their tests only.
#pragma once

#include <string>

#include "schema/store/bounded_count.h"

namespace giftsync::schema::store {

/// gift_id, unassigned and assigned codes; in any order.
inline std::string gift_code_counts_query(std::int64_t max_left) {
  const auto count = [](const std::string& condition, std::int64_t max) {
    return "(SELECT count(*) FROM (SELECT 1 FROM gift_code c WHERE c.gift_id = listed.gift_id AND "
           "c.transaction_id IS " +
           condition + " LIMIT " + std::to_string(max + 1) + ") counted)";
  };
  return "WITH RECURSIVE listed (gift_id) AS (SELECT min(gift_id) FROM gift_code UNION ALL SELECT (SELECT "
         "min(c.gift_id) FROM gift_code c WHERE c.gift_id > listed.gift_id) FROM listed WHERE "
         "listed.gift_id IS NOT NULL) SELECT gift_id, " +
         count("NULL", max_left) + ", " + count("NOT NULL", kMaxCounted) +
         " FROM listed WHERE gift_id IS NOT NULL";
}

}  // namespace giftsync::schema::store
