// schema/store: the further mails of gifts, and what is kept of the former ones, inside the transaction that
// decides about them. The gifts are locked by the caller; their mails are locked here, in the order of their
// ids (ARCH-40). Included by this folder's .cpp files only.
#pragma once

#include <optional>
#include <span>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/sql/database.h"
#include "schema/store/delivery_queue.h"
#include "schema/store/gift_action.h"

namespace giftsync::schema::store {

/// The mail of the outbox with that id, which no other transaction changes until this one ends.
std::optional<DeliveryRow> lock_mail(soci::session& session, sql::Dialect dialect, TransactionId id);

/// Reuses the rows of the previous mails for the next ones, due now. A sender of a previous mail loses its
/// lease.
void queue_next_mails(soci::session& session, sql::Dialect dialect, std::span<const TransactionId> gifts,
                      MailKind kind, platform::UtcMillis now);

/// Withdraws the mails that have not left yet; one that is being sent may still arrive.
void withdraw_mails(soci::session& session, sql::Dialect dialect, std::span<const TransactionId> gifts,
                    platform::UtcMillis now);

/// Stores the action with, before it, what the gift's mail was until now, which the row of the outbox
/// will not have any more (CON-60). Of a mail that was never tried, or is withdrawn already, there is nothing
/// to keep.
void insert_mail_action(soci::session& session, sql::Dialect dialect, const std::optional<DeliveryRow>& mail,
                        const GiftAction& action);

}  // namespace giftsync::schema::store
