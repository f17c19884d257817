// schema/store: the further mails of gifts, inside the transaction that decides about them. The gifts are
// locked by the caller; their mails are locked here, in the order of their ids (ARCH-40). Included by this
// folder's .cpp files only.
#pragma once

#include <span>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/sql/database.h"
#include "schema/store/delivery_queue.h"

namespace giftsync::schema::store {

/// Reuses the rows of the previous mails for the next ones, due now. A sender of a previous mail loses its
/// lease.
void queue_next_mails(soci::session& session, sql::Dialect dialect, std::span<const TransactionId> gifts,
                      MailKind kind, platform::UtcMillis now);

/// Withdraws the mails that have not left yet; one that is being sent may still arrive.
void withdraw_mails(soci::session& session, sql::Dialect dialect, std::span<const TransactionId> gifts,
                    platform::UtcMillis now);

}  // namespace giftsync::schema::store
