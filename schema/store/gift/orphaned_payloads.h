// schema/store: the payloads of orphaned changes (rows of inbound_event), inside the caller's transaction. A
// payload is deleted when its gift exists and no change of its source and transaction is orphaned any more,
// when it is reprocessed, or when the source's orphaned changes are purged. Included by this folder's .cpp
// files only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/gift/change_log.h"

namespace soci {
class session;
}

namespace giftsync::store {

/// The orphaned changes of the source on those transactions that are not voided.
std::vector<StatusChange> orphaned_changes(soci::session& session, const std::string& source,
                                           std::span<const TransactionId> ids);

/// Deletes orphaned changes that resulted from reprocessed payloads and are not in their new result
/// (`current_changes`), unless another stored payload resulted in them.
void withdraw_derived_changes(soci::session& session, const std::vector<std::int64_t>& changes,
                              std::span<const StatusChange> current_changes, UtcMillis now);

/// Deletes the payloads of those transactions, whose gifts exist now, except those of sources that still
/// have an orphaned change of them or whose payloads have to be reprocessed first.
void delete_orphaned_payloads(soci::session& session, std::span<const TransactionId> ids);

/// Deletes payloads of the source that were received before a time and have no orphaned change, at most
/// `limit`; returns how many.
std::int64_t delete_unreferenced_payloads(soci::session& session, const std::string& source, UtcMillis before,
                                          std::size_t limit);

}  // namespace giftsync::store
