// schema/store: rows of inbound_event, the events that are not applied. Included by this folder's .cpp files
// only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/dsn.h"
#include "schema/store/event/sources.h"
#include "schema/store/gift/change_log.h"

namespace soci {
class session;
}

namespace giftsync::store {

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

// The ignored events of one transaction. Of each source the newest kMaxIgnored are kept.
// Included by this folder's .cpp files only.

/// Refers to its batch.
struct IgnoredEvent {
  std::int64_t id = 0;
  const std::string* source = nullptr;
  const UnappliedEvent* event = nullptr;
};

/// Inserts those that are not stored already, in whatever state, all with the same statement, and deletes the
/// oldest ones beyond the limit. Without events it runs no statement.
void insert_ignored_events(soci::session& session, const std::vector<IgnoredEvent>& events);

// Inserts the events of one batch that cannot be applied, inside the batch's transaction: those
// that are quarantined, and those of orphaned changes. Included by this folder's .cpp files only.

/// Thrown to roll the batch back: the source has too many orphaned changes or quarantined events.
struct QuotaExceeded {};

/// Deletes the batch's reprocessed events, and the changes derived from them that are not in `with_ids`.
void delete_reprocessed(soci::session& session, const InboundBatch& batch,
                        std::span<const StatusChange> with_ids);

/// Inserts `events` with ids from `next_id` on, which it advances. The same event in another state is
/// replaced. Returns how many were not there before; throws QuotaExceeded when the source has too
/// many.
std::size_t insert_quarantined(soci::session& session, const InboundBatch& batch,
                               std::span<const UnappliedEvent> events, std::span<const StatusChange> with_ids,
                               std::int64_t& next_id);

/// Inserts the payloads of those of `items`, which are in the batch, whose changes are orphaned, with ids
/// from `next_id` on. The same event is replaced if it was ignored. Without capacity for its payload a change
/// is orphaned without it.
void insert_orphaned_payloads(soci::session& session, const InboundBatch& batch,
                              std::span<const InboundItem* const> items, std::int64_t next_id);

}  // namespace giftsync::store
