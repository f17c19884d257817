// schema/store: which undelivered gifts have no notice for their sender (MAIL-34). Included by this folder's
// .cpp files and their tests only.
#pragma once

#include <cstddef>
#include <string>

#include "schema/sql/database.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema::store {

/// Gifts that giftsync mailed and that became undelivered since then, by their last sending; in that order,
/// by the index recipient_transaction_undelivered. `sending` counts the sendings of a gift. That a source
/// reported the last one, and not the one before, only the times tell, of which some have whole seconds.
inline std::string unnoticed_gifts(sql::Dialect dialect, platform::UtcMillis since, std::size_t limit) {
  return "SELECT t.id, d.number AS sending, t.email, t.undelivered_at, trim(r.sender_email) AS sender, " +
         address_key(dialect, "r.sender_email") +
         " AS sender_key, CASE WHEN d.kind = 'gift' AND d.state = 'undelivered' THEN d.last_reply ELSE '' "
         "END AS reply FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id JOIN "
         "mail_outbox d ON d.transaction_id = t.id WHERE t.status = 'undelivered' AND t.undelivered_at >= " +
         std::to_string(since.value) +
         " AND t.gift_source = '' AND r.sender_email <> '' AND (d.state = 'undelivered' OR (d.state = "
         "'accepted' AND t.undelivered_at > coalesce(t.resent_at, 0) - 1000)) AND NOT EXISTS (SELECT 1 FROM "
         "sender_notice n WHERE n.transaction_id = t.id AND n.sending = d.number) ORDER BY t.undelivered_at "
         "LIMIT " +
         std::to_string(limit);
}

}  // namespace giftsync::schema::store
