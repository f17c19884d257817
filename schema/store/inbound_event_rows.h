// schema/store: rows of inbound_event, the events that are not applied. Included by this folder's .cpp files
// only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/sql/bulk_insert.h"
#include "schema/store/sources.h"

namespace giftsync::schema::store {

/// The orphaned changes that an event was read as; 0: none.
struct DerivedChanges {
  std::int64_t change = 0;
  std::int64_t sent = 0;
};

/// `on_conflict`: with an event of the same source and digest.
sql::BulkInsert inbound_event_rows(sql::Dialect dialect,
                                   std::string_view on_conflict = "ON CONFLICT DO NOTHING");

void add_inbound_event(sql::BulkInsert& rows, std::int64_t id, const std::string& source,
                       const UnappliedEvent& event, DerivedChanges derived = {});

}  // namespace giftsync::schema::store
