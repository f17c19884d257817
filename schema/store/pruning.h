// schema/store: deletes old rows a few at a time. After a week without a daemon there may be millions: one
// DELETE would hold SQLite's only writer for minutes, and on PostgreSQL the query watchdog would cut it,
// again and again. Included by this folder's .cpp files only.
#pragma once

#include <cstdint>
#include <string_view>

#include "platform/time.h"
#include "schema/sql/database.h"

namespace giftsync::schema::store {

struct PrunedTable {
  std::string_view table;
  std::string_view time_column;  ///< with an index
};

struct PruneLimits {
  std::int64_t rows_per_transaction = 5'000;
  std::int64_t rows_per_call = 200'000;  ///< the rest is left to the next call
};

/// Deletes rows whose time is before `before`, the oldest first; returns how many.
std::int64_t prune(sql::Database& database, const PrunedTable& table, platform::UtcMillis before,
                   const PruneLimits& limits = {});

}  // namespace giftsync::schema::store
