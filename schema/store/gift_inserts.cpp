#include "schema/store/gift_inserts.h"

namespace giftsync::schema::sql {

using Type = BulkInsert::Type;

namespace {
Cell cell_of(std::optional<Money> amount) {
  return amount ? Cell(amount->minor_units) : Cell();
}
}  // namespace

BulkInsert request_rows(Dialect dialect) {
  return {dialect,
          "gift_request",
          {{"id", Type::integer},
           {"account_id", Type::integer},
           {"mode", Type::text},
           {"gift_id", Type::integer},
           {"item_name", Type::text},
           {"item_description", Type::text},
           {"item_cost", Type::integer},
           {"shipping_cost", Type::integer},
           {"carbon_neutral_cost", Type::integer},
           {"transaction_fee", Type::integer},
           {"sender_email", Type::text},
           {"sender_name", Type::text},
           {"utm_campaign_id", Type::text},
           {"triggered_by", Type::text},
           {"created_at", Type::integer},
           {"terms", Type::text}}};
}

void add_request(BulkInsert& rows, GiftRequestId id, const GiftRequest& r, std::string_view terms) {
  rows.add({id.value, r.account.value, to_word(r.mode), r.gift.value, r.item_name, r.item_description,
            cell_of(r.costs.item), cell_of(r.costs.shipping), cell_of(r.costs.carbon_neutral),
            cell_of(r.costs.transaction_fee), r.sender_email, r.sender_name, cell_of(r.utm_campaign_id),
            r.triggered_by, r.created_at.value, terms});
}

BulkInsert origin_rows(Dialect dialect) {
  return {dialect,
          "sent_request",
          {{"request_key", Type::text},
           {"gift_request_id", Type::integer},
           {"contact_id", Type::text},
           {"lead_id", Type::text},
           {"account_id", Type::text},
           {"opportunity_id", Type::text},
           {"sender_id", Type::text}},
          "ON CONFLICT (request_key) DO NOTHING"};
}

void add_origin(BulkInsert& rows, GiftRequestId id, const RequestOrigin& origin) {
  rows.add({origin.key, id.value, origin.contact_id, origin.lead_id, origin.account_id, origin.opportunity_id,
            origin.sender_id});
}

BulkInsert mark_rows(Dialect dialect, std::string_view suffix) {
  return {dialect,
          "sync_mark",
          {{"transaction_id", Type::integer},
           {"seq", Type::integer},
           {"due_at", Type::integer},
           {"attempts", Type::integer},
           {"lease_owner", Type::text},
           {"lease_until", Type::integer},
           {"last_error", Type::text}},
          suffix};
}

void add_mark(BulkInsert& rows, TransactionId transaction, UtcMillis due_at) {
  const std::int64_t zero = 0;
  rows.add(
      {transaction.value, std::int64_t{1}, due_at.value, zero, std::string_view(), zero, std::string_view()});
}

}  // namespace giftsync::schema::sql
