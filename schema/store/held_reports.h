// schema/store: the reports that are kept beside held changes, inside a transaction that holds or releases
// some. Such a report goes when its gift has come and no change of its source and transaction is held any
// more, when it is judged again, or when what is held of its source is discarded. Included by this folder's
// .cpp files only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schema/database_address.h"
#include "schema/ids.h"
#include "schema/store/change_log.h"

namespace soci {
class session;
}

namespace giftsync::schema::sql {

/// The changes of the source to those transactions that are held, and really wait.
std::vector<StatusChange> waiting_changes(soci::session& session, Dialect dialect, const std::string& source,
                                          std::span<const TransactionId> ids);

/// Takes back changes that reports were read as which are read again now and are gone from what is kept:
/// those still held that the reports are not read as any more (`now_read`), and no other kept report is.
void withdraw_readings(soci::session& session, Dialect dialect, const std::vector<std::int64_t>& changes,
                       std::span<const StatusChange> now_read, UtcMillis now);

/// Forgets the reports on those transactions, whose gifts have come, but for those of sources that have a
/// change of them held still, or whose reports are to be judged first.
void forget_held_reports(soci::session& session, Dialect dialect, std::span<const TransactionId> ids);

/// Forgets reports of the source that were received before a time and none of whose changes is held, at most
/// `limit`; returns how many.
std::int64_t forget_reports_of_none_held(soci::session& session, const std::string& source, UtcMillis before,
                                         std::size_t limit);

}  // namespace giftsync::schema::sql
