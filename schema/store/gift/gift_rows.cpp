#include "schema/store/gift/gift_rows.h"

#include <iterator>
#include <span>
#include <utility>

#include "schema/sql/queries.h"
#include "schema/store/statements/claims.h"

namespace giftsync::store {

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

std::string test_condition(const std::string& table, bool is_test) {
  return is_test ? test_gift_condition(table + ".id", true) : table + ".is_test = 0";
}

std::string test_gift_condition(const std::string& column, bool is_test) {
  const std::string tests = "SELECT tested.id FROM recipient_transaction tested WHERE tested.is_test = 1";
  return is_test ? column + " IN (" + tests + ")"
                 : "NOT EXISTS (" + tests + " AND tested.id = " + column + ")";
}

std::string live_gift_condition(sql::Dialect dialect, const std::string& column) {
  const std::string index =
      dialect == sql::Dialect::sqlite ? " INDEXED BY recipient_transaction_test" : std::string();
  return "NOT EXISTS (SELECT tested.id FROM recipient_transaction tested" + index +
         " WHERE tested.is_test = 1 AND tested.id = " + column + ")";
}

std::string latest_gifts_query(const std::string& condition, std::size_t limit) {
  return "SELECT t.sent_at, t.id FROM recipient_transaction t JOIN gift_request r ON r.id = t.request_id "
         "WHERE " +
         condition + " ORDER BY t.sent_at DESC, t.id DESC LIMIT " + std::to_string(limit);
}

std::string latest_end_query(const std::string& condition, std::size_t count) {
  return "SELECT sent_at, id FROM recipient_transaction WHERE " + condition +
         " ORDER BY sent_at DESC, id DESC LIMIT 1 OFFSET " + std::to_string(count - 1);
}

sql::Conditions sent_below(const std::string& table, SentPosition below) {
  sql::Conditions condition;
  condition.add("(" + table + "sent_at, " + table + "id) < (:sent_below, :id_below)", "sent_below",
                std::to_string(below.sent_at.value));
  condition.bind("id_below", std::to_string(below.id.value));
  return condition;
}

std::optional<SentPosition> end_of_sent(soci::session& session, SentPosition below,
                                        std::optional<UtcMillis> since, std::size_t count, bool is_test) {
  sql::Conditions condition = sent_below("", below);
  if (since) condition.add("sent_at >= :since", "since", std::to_string(since->value));
  if (is_test) condition.add(test_condition("recipient_transaction", true));
  sql::PreparedQuery row(session, latest_end_query(condition.text, count), condition.names);
  std::optional<SentPosition> end;
  row.each_row(condition.values, [&] { end = {{row.integer(0)}, TransactionId{row.integer(1)}}; });
  return end;
}

std::string sent_at_of_latest_query(std::size_t count) {
  return "SELECT sent_at FROM recipient_transaction ORDER BY sent_at DESC, id DESC LIMIT 1 OFFSET " +
         std::to_string(count);
}

Gift gift_in(const sql::PreparedQuery& row) {
  return {sql::read_record(kGiftRequestFields, row, kRecipientTransactionFields.kCount),
          sql::read_record(kRecipientTransactionFields, row)};
}

std::optional<CountedGift> counted_gift(const GiftRequest& request, const RecipientTransaction& transaction) {
  if (transaction.is_test || request.is_test) return std::nullopt;
  CountedGift gift;
  gift.by = {.day = utc_day(transaction.times[Status::sent].value_or(UtcMillis{})),
             .organization = request.organization.value_or(OrganizationId{}).value,
             .account = request.account.value,
             .item = item_key(request.gift, request.item_name),
             .campaign = campaign_key(request.utm_campaign_id.value_or("")),
             .source = transaction.gift_source};
  gift.cost = request.costs.total().value_or(Money{});
  gift.status = transaction.status;
  gift.times = transaction.times;
  return gift;
}

using Type = sql::BulkInsert::Type;

sql::BulkInsert gift_request_rows(sql::Dialect dialect) {
  return {dialect, kGiftRequestFields.table, sql::bulk_columns(kGiftRequestFields)};
}

void add_gift_request(sql::BulkInsert& rows, GiftRequestId id, const GiftRequest& request,
                      std::string_view terms, std::string_view sending_day) {
  auto cells = sql::cells_of(kGiftRequestFields, request);
  cells[kGiftRequestFields.index_of("id")] = id.value;
  cells[kGiftRequestFields.index_of("terms")] = terms;
  cells[kGiftRequestFields.index_of("sending_day")] = sending_day;
  rows.add(cells);
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

sql::BulkInsert crm_outbox_rows(sql::Dialect dialect, std::string_view suffix, MarkKind kind) {
  std::vector<sql::BulkInsert::Column> columns{
      {"transaction_id", Type::integer}, {"mark_seq", Type::integer}, {"next_attempt_at", Type::integer},
      {"attempts", Type::integer},       {"lease_owner", Type::text}, {"lease_until", Type::integer},
      {"last_error", Type::text}};
  if (kind == MarkKind::change) columns.push_back({"to_fold", Type::integer});
  return {dialect, "crm_outbox", std::move(columns), suffix};
}

void add_crm_outbox_row(sql::BulkInsert& rows, TransactionId transaction, UtcMillis next_attempt_at,
                        MarkKind kind) {
  const std::int64_t zero = 0;
  const std::int64_t one = 1;
  const sql::Cell cells[] = {transaction.value,  one,  next_attempt_at.value, zero,
                             std::string_view(), zero, std::string_view(),    one};
  rows.add(std::span(cells).first(std::size(cells) - (kind == MarkKind::change ? 0 : 1)));
}

namespace {

constexpr LeasedTable kGifts{"recipient_transaction", "id", ""};

}  // namespace

void lock_gifts(soci::session& session, const std::vector<std::int64_t>& ids) {
  lock_in_order(session, kGifts, ids);
}

std::unordered_set<std::int64_t> lock_free_gifts(soci::session& session,
                                                 const std::vector<std::int64_t>& ids) {
  if (sql::Dialect(session) == sql::Dialect::sqlite || ids.empty()) return {ids.begin(), ids.end()};
  const std::string list = sql::list_of(session, ids);
  const auto locked = sql::select_column<std::int64_t>(
      session,
      "SELECT id FROM recipient_transaction WHERE " + sql::in_list(session, "id", "ids", false) +
          " ORDER BY id" + for_update(session, " SKIP LOCKED"),
      soci::use(list));
  return {locked.begin(), locked.end()};
}

void lock_new_gifts(soci::session& session, const std::vector<std::int64_t>& ids) {
  if (sql::Dialect(session) == sql::Dialect::sqlite || ids.empty()) return;
  const std::string list = sql::list_of(session, ids);
  // Several ids share a lock: the server's table of locks holds some thousands only, and a poll may
  // bring more gifts than that.
  sql::select_value<std::int64_t>(
      session,
      "SELECT count(pg_advisory_xact_lock(7208291, slot)) FROM (SELECT DISTINCT cast(id % 256 AS int) AS "
      "slot "
      "FROM unnest(cast(:ids AS bigint[])) AS given (id) WHERE NOT EXISTS (SELECT 1 FROM "
      "recipient_transaction t WHERE t.id = given.id) ORDER BY slot) slots",
      soci::use(list));
}

}  // namespace giftsync::store
