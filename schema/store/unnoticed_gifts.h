// schema/store: which undelivered gifts have no notice for their sender (MAIL-34). Included by this folder's
// .cpp files and their tests only.
#pragma once

#include <cstddef>
#include <string>

#include "schema/sql/database.h"
#include "schema/store/gift_rows.h"

namespace giftsync::schema::store {

/// Gifts that giftsync mailed and that became undelivered since then, after their last sending; in that
/// order, by the index recipient_transaction_undelivered.
inline std::string unnoticed_gifts(sql::Dialect dialect, platform::UtcMillis since, std::size_t limit) {
  return "SELECT t.id, coalesce(t.resent_at, 0) AS resent_at, t.email, t.undelivered_at, "
         "trim(r.sender_email) AS sender, " +
         address_key(dialect, "r.sender_email") +
         " AS sender_key, CASE WHEN d.kind = 'gift' AND d.state = 'undelivered' THEN d.last_reply ELSE '' "
         "END AS reply FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id JOIN "
         "mail_outbox d ON d.transaction_id = t.id WHERE t.status = 'undelivered' AND t.undelivered_at >= " +
         std::to_string(since.value) +
         " AND t.gift_source = '' AND r.sender_email <> '' AND coalesce(t.resent_at, 0) < t.undelivered_at "
         "AND NOT EXISTS (SELECT 1 FROM sender_notice n WHERE n.transaction_id = t.id AND n.resent_at = "
         "coalesce(t.resent_at, 0)) ORDER BY t.undelivered_at LIMIT " +
         std::to_string(limit);
}

}  // namespace giftsync::schema::store
