// schema/store: the further mails of gifts, and what is kept of the former ones, inside the transaction that
// decides about them. The gifts are locked by the caller; their mails are locked here, in the order of their
// ids (ARCH-40). Included by this folder's .cpp files only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/sql/database.h"
#include "schema/store/gift/gift_action.h"
#include "schema/store/mail/delivery_queue.h"
#include "schema/store/mail/notices.h"
#include "schema/store/statements/word_conversions.h"

namespace giftsync::store {

/// The mail of the outbox with that id, which no other transaction changes until this one ends.
std::optional<DeliveryRow> lock_mail(soci::session& session, TransactionId id);

/// Reuses the rows of the previous mails for the next ones, due now. A sender of a previous mail loses its
/// lease.
void queue_next_mails(soci::session& session, std::span<const TransactionId> gifts, MailKind kind,
                      UtcMillis now);

/// Withdraws the mails that have not left yet; one that is being sent may still arrive.
void withdraw_mails(soci::session& session, std::span<const TransactionId> gifts, UtcMillis now);

/// Stores the action with, before it, what the gift's mail was until now, which the row of the outbox
/// will not have any more (CON-60). Of a mail that was never tried, or is withdrawn already, there is nothing
/// to keep.
void insert_mail_action(soci::session& session, const std::optional<DeliveryRow>& mail,
                        const GiftAction& action);

// Reads mails from their rows. Included by this folder's .cpp files only.

/// To whom a mail of mail_outbox d goes; recipient_transaction t is that of the mail of a gift.
inline std::string mail_recipient_column() {
  return "coalesce(t.email, (SELECT u.email FROM console_user u WHERE u.id = -d.transaction_id), (SELECT "
         "s.email "
         "FROM notified_sender s WHERE s.id = -" +
         std::to_string(kSenderMailIds) + " - d.transaction_id), '')";
}

/// "SELECT ... WHERE <rest>" over mail_outbox d and, for the mails of gifts, recipient_transaction t.
inline std::vector<DeliveryRow> select_mails(soci::session& session, const std::string& rest) {
  DeliveryRow row;
  return sql::select_rows(
      row, session,
      "SELECT d.transaction_id, d.state, d.attempt, d.uncertain_retries, d.next_attempt_at, d.updated_at, "
      "d.message_id, d.last_reply, " +
          mail_recipient_column() +
          ", d.kind, d.number, d.ordered_at FROM mail_outbox d LEFT JOIN recipient_transaction t ON t.id = "
          "d.transaction_id WHERE " +
          rest,
      soci::into(row.transaction), soci::into(row.state), soci::into(row.attempt),
      soci::into(row.uncertain_retries), soci::into(row.next_attempt_at), soci::into(row.updated_at),
      soci::into(row.message_id), soci::into(row.last_reply), soci::into(row.email), soci::into(row.kind),
      soci::into(row.number), soci::into(row.ordered_at));
}

}  // namespace giftsync::store
