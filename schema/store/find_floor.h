// schema/store: the floor of a queue's claims, read from its table (claim_floor.h). Included by .cpp files
// only.
#pragma once

#include <optional>

#include "schema/sql/database.h"
#include "schema/sql/queries.h"
#include "schema/store/claim_floor.h"

namespace giftsync::schema::store {

/// Nullopt: read from the beginning; always so on SQLite, which keeps no dead rows. `smallest(above)`: the
/// SELECT of the queue's smallest time, from `above` on or from the beginning.
template <class SmallestQuery>
std::optional<platform::UtcMillis> find_floor(sql::Database& database, ClaimFloor& floor,
                                              platform::UtcMillis now, const SmallestQuery& smallest) {
  if (database.dialect() != sql::Dialect::postgresql) return std::nullopt;
  return floor.find(now, [&](std::optional<platform::UtcMillis> above) {
    return database.read([&](soci::session& session) {
      return sql::first_of(sql::select_column<platform::UtcMillis>(session, smallest(above)));
    });
  });
}

}  // namespace giftsync::schema::store
