#include "schema/store/gift_rows.h"

namespace giftsync::schema::store {
namespace {

/// Reads a row's columns in order.
class Columns {
 public:
  Columns(const sql::PreparedQuery& row, int at) : row_(row), at_(at) {}
  std::int64_t integer() { return row_.integer(at_++); }
  std::string text() { return std::string(row_.text(at_++)); }
  std::string_view word() { return row_.text(at_++); }
  std::optional<platform::UtcMillis> time() {
    const int at = at_++;
    return row_.is_null(at) ? std::nullopt : std::optional(platform::UtcMillis{row_.integer(at)});
  }
  std::optional<Money> money() {
    const int at = at_++;
    return row_.is_null(at) ? std::nullopt : std::optional(Money{row_.integer(at)});
  }
  std::optional<std::string> optional_text() {
    const int at = at_++;
    return row_.is_null(at) ? std::nullopt : std::optional(std::string(row_.text(at)));
  }

 private:
  const sql::PreparedQuery& row_;
  int at_;
};

}  // namespace

GiftRequest gift_request_in(const sql::PreparedQuery& row, int at) {
  Columns columns(row, at);
  GiftRequest request;
  request.id = {columns.integer()};
  request.account = {columns.integer()};
  request.mode = send_mode_from_word(columns.word()).value_or(SendMode::email);
  request.gift = {columns.integer()};
  request.item_name = columns.text();
  request.item_description = columns.text();
  request.costs.item = columns.money();
  request.costs.shipping = columns.money();
  request.costs.carbon_neutral = columns.money();
  request.costs.transaction_fee = columns.money();
  request.sender_email = columns.text();
  request.sender_name = columns.text();
  request.utm_campaign_id = columns.optional_text();
  request.triggered_by = columns.text();
  request.created_at = {columns.integer()};
  request.terms = columns.text();
  request.credential_prefix = columns.text();
  request.http_request_id = columns.text();
  return request;
}

RecipientTransaction recipient_transaction_in(const sql::PreparedQuery& row, int at) {
  Columns columns(row, at);
  RecipientTransaction transaction;
  transaction.id = {columns.integer()};
  transaction.email = columns.text();
  transaction.first_name = columns.text();
  transaction.last_name = columns.text();
  transaction.message = columns.text();
  transaction.generation = columns.integer();
  transaction.status = status_from_word(columns.word()).value_or(Status::sent);
  transaction.version = columns.integer();
  for (const Status status : kAllStatuses) transaction.times[status] = columns.time();
  transaction.has_conflict = columns.integer() != 0;
  transaction.phone = columns.text();
  transaction.gift_source = columns.text();
  transaction.untimed_status = status_from_word(columns.word());
  transaction.due_at = columns.time();
  transaction.resent_at = columns.time();
  transaction.last_reminder_day = columns.integer();
  transaction.external_id = columns.text();
  return transaction;
}

std::string gifts_query(const std::string& rest) {
  return "SELECT " + kGiftColumns +
         " FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id WHERE " + rest;
}

std::string masked_column(const std::string& column) {
  return "CASE WHEN " + column + " = '' THEN '' ELSE '***' END";
}

std::string masked_address_column(sql::Dialect dialect, const std::string& column) {
  const std::string at =
      std::string(dialect == sql::Dialect::sqlite ? "instr(" : "strpos(") + column + ", '@')";
  // Both sides of the first "@" have something, and what is behind it consists of these characters alone.
  return "CASE WHEN " + column + " = '' THEN '' WHEN " + column + " LIKE '_%@_%' AND ltrim(substr(" + column +
         ", " + at +
         " + 1), 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-') = '' THEN '***' || "
         "substr(" +
         column + ", " + at + ") ELSE '***' END";
}

std::string address_key(sql::Dialect dialect, const std::string& column) {
  // By bytes: the database's language may have other rules for letters.
  return "lower(trim(" + column + ")" + (dialect == sql::Dialect::postgresql ? " COLLATE \"C\")" : ")");
}

std::string latest_gifts_query(const std::string& condition, std::size_t limit) {
  return "SELECT t.sent_at, t.id FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id "
         "WHERE " +
         condition + " ORDER BY t.sent_at DESC, t.id DESC LIMIT " + std::to_string(limit);
}

std::string sent_at_of_latest_query(std::size_t count) {
  return "SELECT sent_at FROM recipient_transaction ORDER BY sent_at DESC, id DESC LIMIT 1 OFFSET " +
         std::to_string(count);
}

Gift gift_in(const sql::PreparedQuery& row) {
  return {gift_request_in(row, count_columns(kTransactionColumns)), recipient_transaction_in(row, 0)};
}

}  // namespace giftsync::schema::store
