#include "schema/store/gift_inserts.h"

namespace giftsync::schema::store {

using Type = sql::BulkInsert::Type;

namespace {
sql::Cell cell_of(std::optional<Money> amount) {
  return amount ? sql::Cell(amount->minor_units) : sql::Cell();
}
}  // namespace

sql::BulkInsert gift_request_rows(sql::Dialect dialect) {
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
           {"terms", Type::text},
           {"credential_prefix", Type::text},
           {"http_request_id", Type::text}}};
}

void add_gift_request(sql::BulkInsert& rows, GiftRequestId id, const GiftRequest& r, std::string_view terms) {
  rows.add({id.value, r.account.value, to_word(r.mode), r.gift.value, r.item_name, r.item_description,
            cell_of(r.costs.item), cell_of(r.costs.shipping), cell_of(r.costs.carbon_neutral),
            cell_of(r.costs.transaction_fee), r.sender_email, r.sender_name, sql::cell_of(r.utm_campaign_id),
            r.triggered_by, r.created_at.value, terms, r.credential_prefix, r.http_request_id});
}

sql::BulkInsert recipient_transaction_rows(sql::Dialect dialect,
                                           const std::vector<sql::BulkInsert::Column>& more,
                                           std::string_view suffix) {
  std::vector<sql::BulkInsert::Column> columns = {
      {"id", Type::integer},      {"request_id", Type::integer}, {"position", Type::integer},
      {"email", Type::text},      {"first_name", Type::text},    {"last_name", Type::text},
      {"message", Type::text},    {"generation", Type::integer}, {"status", Type::text},
      {"sent_at", Type::integer}, {"version", Type::integer}};
  columns.insert(columns.end(), more.begin(), more.end());
  return {dialect, "recipient_transaction", std::move(columns), suffix};
}

sql::BulkInsert request_record_gift_rows(sql::Dialect dialect) {
  return {dialect,
          "request_record_gift",
          {{"record_id", Type::text},
           {"gift_request_id", Type::integer},
           {"contact_id", Type::text},
           {"lead_id", Type::text},
           {"account_id", Type::text},
           {"opportunity_id", Type::text},
           {"sender_id", Type::text}},
          "ON CONFLICT (record_id) DO NOTHING"};
}

void add_request_record_gift(sql::BulkInsert& rows, GiftRequestId id, const RequestRecordLink& link) {
  rows.add({link.record_id, id.value, link.contact_id, link.lead_id, link.account_id, link.opportunity_id,
            link.sender_id});
}

sql::BulkInsert crm_outbox_rows(sql::Dialect dialect, std::string_view suffix) {
  return {dialect,
          "crm_outbox",
          {{"transaction_id", Type::integer},
           {"mark_seq", Type::integer},
           {"next_attempt_at", Type::integer},
           {"attempts", Type::integer},
           {"lease_owner", Type::text},
           {"lease_until", Type::integer},
           {"last_error", Type::text}},
          suffix};
}

void add_crm_outbox_row(sql::BulkInsert& rows, TransactionId transaction,
                        platform::UtcMillis next_attempt_at) {
  const std::int64_t zero = 0;
  rows.add({transaction.value, std::int64_t{1}, next_attempt_at.value, zero, std::string_view(), zero,
            std::string_view()});
}

}  // namespace giftsync::schema::store
