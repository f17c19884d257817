// schema/store: the reports that are kept beside held changes, inside a transaction that holds or releases
// some. Such a report goes with the last change of its source and transaction that is held. Included by this
// folder's .cpp files only.
#pragma once

#include <set>
#include <span>
#include <string>

#include "schema/database_address.h"
#include "schema/ids.h"

namespace soci {
class session;
}

namespace giftsync::schema::sql {

/// Those of the transactions for which a change of the source is held, and really waits.
std::set<TransactionId> awaited_transactions(soci::session& session, Dialect dialect,
                                             const std::string& source, std::span<const TransactionId> ids);

/// Forgets the reports on those transactions, but for those of sources that have a change of them held still.
void forget_held_reports(soci::session& session, Dialect dialect, std::span<const TransactionId> ids);

}  // namespace giftsync::schema::sql
