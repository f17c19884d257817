// schema/store: reads gift requests and recipient transactions from their rows. Included by this folder's
// .cpp files only.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/sql/prepared_query.h"
#include "schema/store/gift_requests.h"

namespace giftsync::schema::store {

/// The columns of gift_request r that gift_request_in() reads.
inline constexpr std::string_view kRequestColumns =
    "r.id, r.account_id, r.mode, r.gift_id, r.item_name, r.item_description, r.item_cost, r.shipping_cost, "
    "r.carbon_neutral_cost, r.transaction_fee, r.sender_email, r.sender_name, r.utm_campaign_id, "
    "r.triggered_by, r.created_at, r.terms, r.credential_prefix, r.http_request_id";
/// From a row whose columns from index `at` on are kRequestColumns.
GiftRequest gift_request_in(const sql::PreparedQuery& row, int at);

/// The columns of recipient_transaction t that recipient_transaction_in() reads.
inline constexpr std::string_view kTransactionColumns =
    "t.id, t.email, t.first_name, t.last_name, t.message, t.generation, t.status, t.version, t.sent_at, "
    "t.delivered_at, t.undelivered_at, t.opened_at, t.redeemed_at, t.donated_at, t.expired_at, "
    "t.refunded_at, t.has_conflict, t.phone, t.gift_source, t.untimed_status, t.due_at, "
    "t.resent_at, t.last_reminder_day, t.external_id";
/// From a row whose columns from index `at` on are kTransactionColumns.
RecipientTransaction recipient_transaction_in(const sql::PreparedQuery& row, int at);

inline constexpr int count_columns(std::string_view columns) {
  return static_cast<int>(std::count(columns.begin(), columns.end(), ',')) + 1;
}
/// The columns that gift_in() reads.
inline const std::string kGiftColumns =
    std::string(kTransactionColumns) + ", " + std::string(kRequestColumns);
inline constexpr int kGiftColumnCount = count_columns(kTransactionColumns) + count_columns(kRequestColumns);

/// What a masked viewer reads of the column (CON-59): of one address with a plain host name "***" and its
/// domain, of another text "***"; of an empty one nothing. masked_address() of the console's pages says the
/// same.
std::string masked_address_column(sql::Dialect dialect, const std::string& column);
std::string masked_column(const std::string& column);

/// An address in that column as email_key() folds it, in the form that recipient_transaction_email indexes.
std::string address_key(sql::Dialect dialect, const std::string& column);

/// Gifts as "SELECT ... WHERE <rest>", over recipient_transaction t and gift_request r.
std::string gifts_query(const std::string& rest);
/// Of gifts_query()'s tables: sent_at and id of the gifts that satisfy `condition`, the latest sent first.
std::string latest_gifts_query(const std::string& condition, std::size_t limit);
/// sent_at of the gift after the `count` latest sent.
std::string sent_at_of_latest_query(std::size_t count);
/// From a row that begins with kGiftColumns.
Gift gift_in(const sql::PreparedQuery& row);

inline std::vector<std::int64_t> values_of(std::span<const TransactionId> ids) {
  std::vector<std::int64_t> values;
  values.reserve(ids.size());
  for (const TransactionId id : ids) values.push_back(id.value);
  return values;
}

}  // namespace giftsync::schema::store
