// schema/store: rows that wait for a time which a clock that was ahead has put too far off. Included by this
// folder's .cpp files only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/sql/database.h"
#include "schema/time.h"

namespace giftsync::schema::sql {

/// Which rows wait, and how that ends.
struct WaitingRows {
  std::string_view table;
  std::string_view key;    ///< its primary key, of one column
  std::string beyond;      ///< a condition with :latest, as an index of the table serves it
  std::string_view order;  ///< of that index, and total
  std::string_view ended;  ///< what is set, with :now
};

/// Ends the waits beyond `latest`, which is not before `now`, in parts (Database::write_in_parts); returns
/// how many those were. Most often there is none, and no write lock is taken.
std::int64_t end_waits_beyond(Database& database, const WaitingRows& rows, UtcMillis latest, UtcMillis now);

}  // namespace giftsync::schema::sql
