// schema/store: accepting changes inside a transaction that does more, as the outbox does. Included by this
// folder's .cpp files only.
#pragma once

#include <span>
#include <vector>

#include "schema/database_address.h"
#include "schema/store/change_log.h"

namespace soci {
class session;
}

namespace giftsync::schema::sql {

/// As ChangeLog::accept; the changes are numbered already.
std::vector<AcceptOutcome> accept_changes(soci::session& session, Dialect dialect,
                                          std::span<const StatusChange> changes);

/// Puts the transactions into the sync queue, or moves their marks on.
void mark_for_sync(soci::session& session, Dialect dialect, const std::vector<TransactionId>& transactions,
                   UtcMillis now);

}  // namespace giftsync::schema::sql
