// schema/store: the ignored events of one transaction. Of each source the newest kMaxIgnored are kept.
// Included by this folder's .cpp files only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schema/sql/dsn.h"
#include "schema/store/sources.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// Refers to its batch.
struct IgnoredEvent {
  std::int64_t id = 0;
  const std::string* source = nullptr;
  const UnappliedEvent* event = nullptr;
};

/// Inserts those that are not stored already, in whatever state, all with the same statement, and deletes the
/// oldest ones beyond the limit. Without events it runs no statement.
void insert_ignored_events(soci::session& session, sql::Dialect dialect,
                           const std::vector<IgnoredEvent>& events);

}  // namespace giftsync::schema::store
