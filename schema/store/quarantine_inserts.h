// schema/store: inserts the events of one batch that cannot be applied, inside the batch's transaction: those
// that are quarantined, and those of orphaned changes. Included by this folder's .cpp files only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schema/sql/dsn.h"
#include "schema/store/change_log.h"
#include "schema/store/sources.h"

namespace soci {
class session;
}

namespace giftsync::schema::store {

/// Thrown to roll the batch back: the source has too many orphaned changes or quarantined events.
struct QuotaExceeded {};

/// Deletes the batch's reprocessed events, and the changes derived from them that are not in `with_ids`.
void delete_reprocessed(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                        std::span<const StatusChange> with_ids);

/// Inserts `events` with ids from `next_id` on, which it advances. The same event in another state is
/// replaced. Returns how many were not there before; throws QuotaExceeded when the source has too
/// many.
std::size_t insert_quarantined(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                               std::span<const UnappliedEvent> events, std::span<const StatusChange> with_ids,
                               std::int64_t& next_id);

/// Inserts the payloads of those of `items`, which are in the batch, whose changes are orphaned, with ids
/// from `next_id` on. The same event is replaced if it was ignored. Without capacity for its payload a change
/// is orphaned without it.
void insert_orphaned_payloads(soci::session& session, sql::Dialect dialect, const InboundBatch& batch,
                              std::span<const InboundItem* const> items, std::int64_t next_id);

}  // namespace giftsync::schema::store
