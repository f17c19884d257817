// schema/store: reads mails from their rows. Included by this folder's .cpp files only.
#pragma once

#include <string>
#include <vector>

#include "schema/store/delivery_queue.h"
#include "schema/store/sender_notices.h"
#include "schema/store/word_conversions.h"

namespace giftsync::schema::store {

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

}  // namespace giftsync::schema::store
