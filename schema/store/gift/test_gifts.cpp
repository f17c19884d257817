#include "schema/store/gift/test_gifts.h"

#include <vector>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/gift/gift_rows.h"
#include "schema/store/gift/held_gift_requests.h"
#include "schema/store/statements/claims.h"
#include "schema/store/statements/mail_ids.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

/// The tables with a row for each of the gifts, but that of the gift itself.
constexpr const char* kTablesOfGifts[] = {"crm_outbox", "test_record", "donation", "gift_action",
                                          "change_log"};

/// So many requests that their gifts are few enough, the oldest first.
std::vector<std::int64_t> requests_to_purge(soci::session& session, UtcMillis before) {
  std::pair<std::int64_t, std::int64_t> row;
  const auto counted =
      sql::select_rows(row, session,
                       "SELECT r.id, (SELECT count(*) FROM recipient_transaction t WHERE t.request_id = "
                       "r.id) FROM gift_request "
                       "r WHERE r.is_test = 1 AND r.created_at < :before ORDER BY r.created_at LIMIT " +
                           std::to_string(TestGifts::kMaxPurged),
                       use(before, "before"), into(row.first), into(row.second));
  std::vector<std::int64_t> ids;
  std::int64_t gifts = 0;
  for (const auto& [id, count] : counted) {
    gifts += count;
    if (!ids.empty() && gifts > static_cast<std::int64_t>(TestGifts::kMaxPurged)) break;
    ids.push_back(id);
  }
  return ids;
}

std::int64_t delete_gifts(soci::session& session, UtcMillis before) {
  const std::vector<std::int64_t> requests = requests_to_purge(session, before);
  if (requests.empty()) return 0;
  const std::string request_list = sql::list_of(session, requests);
  const auto gifts = sql::select_column<std::int64_t>(
      session,
      "SELECT id FROM recipient_transaction WHERE " + sql::in_list(session, "request_id", "requests", false),
      use(request_list, "requests"));
  lock_gifts(session, gifts);
  std::vector<std::int64_t> mails;
  for (const std::int64_t gift : gifts) mails.push_back(test_mail_of({gift}).value);
  const std::string gift_list = sql::list_of(session, gifts);
  const std::string mail_list = sql::list_of(session, mails);
  const auto remove = [&](const std::string& table, const std::string& key, const std::string& list) {
    session << "DELETE FROM " + table + " WHERE " + sql::in_list(session, key, "ids", false),
        use(list, "ids");
  };
  lock_in_order(session, kMailOutbox, mails);
  lock_in_order(session, kCrmOutbox, gifts);
  delete_change_details(
      session,
      sql::select_column<std::int64_t>(
          session, "SELECT id FROM change_log WHERE " + sql::in_list(session, "transaction_id", "ids", false),
          use(gift_list, "ids")));
  remove("mail_outbox", "transaction_id", mail_list);
  for (const char* const table : kTablesOfGifts) remove(table, "transaction_id", gift_list);
  remove("recipient_transaction", "id", gift_list);
  remove("gift_reference", "request_id", request_list);
  remove("gift_request", "id", request_list);
  return static_cast<std::int64_t>(gifts.size());
}

/// While its gifts are there, a request is found with its URLs and under its key.
std::string without_gifts(const std::string& request_id) {
  return " AND NOT EXISTS (SELECT 1 FROM gift_request r WHERE r.id = " + request_id + ")";
}

std::string old_held_condition() {
  return held_test_condition(true) + " AND held_at < :before" + without_gifts("held_gift_request.request_id");
}

std::int64_t delete_held(soci::session& session, UtcMillis before) {
  return sql::change_rows(session, "DELETE FROM held_gift_request WHERE " + old_held_condition(),
                          use(before, "before"));
}

}  // namespace

void TestGifts::save_records(const std::map<TransactionId, std::string>& records) {
  if (records.empty()) return;
  database_->write([&](soci::session& session) {
    // Those that were deleted meanwhile get none.
    std::vector<std::int64_t> ids;
    for (const auto& [gift, record] : records) ids.push_back(gift.value);
    lock_gifts(session, ids);
    const std::string list = sql::list_of(session, ids);
    const auto kept = sql::select_column<TransactionId>(
        session, "SELECT id FROM recipient_transaction WHERE " + sql::in_list(session, "id", "ids", false),
        use(list, "ids"));
    sql::BulkInsert rows(
        session, "test_record",
        {{"transaction_id", sql::BulkInsert::Type::integer}, {"record", sql::BulkInsert::Type::text}},
        "ON CONFLICT (transaction_id) DO UPDATE SET record = excluded.record");
    for (const TransactionId gift : kept) rows.add({gift.value, std::string_view(records.at(gift))});
    rows.run(session);
  });
}

std::map<TransactionId, std::string> TestGifts::find_records(std::span<const TransactionId> gifts) {
  if (gifts.empty()) return {};
  return database_->read([&](soci::session& session) {
    const std::string list = sql::list_of(session, gifts);
    std::pair<TransactionId, std::string> row;
    const auto rows = sql::select_rows(row, session,
                                       "SELECT transaction_id, record FROM test_record WHERE " +
                                           sql::in_list(session, "transaction_id", "ids", false),
                                       use(list, "ids"), into(row.first), into(row.second));
    return std::map<TransactionId, std::string>(rows.begin(), rows.end());
  });
}

std::int64_t TestGifts::purge(UtcMillis before) {
  const auto has_old = [&](soci::session& session) {
    return sql::has_row(session, "gift_request WHERE is_test = 1 AND created_at < :before",
                        use(before, "before")) ||
           sql::has_row(session, "held_gift_request WHERE " + old_held_condition(), use(before, "before"));
  };
  return write_if_any(*database_, has_old, [&](soci::session& session) {
    const std::int64_t deleted = delete_gifts(session, before) + delete_held(session, before);
    // Under such a key nothing would be found any more.
    session << "DELETE FROM gift_request_idempotency WHERE substr(mode, 1, 5) = 'test_' AND created_at < "
               ":before" +
                   without_gifts("gift_request_idempotency.request_id"),
        use(before, "before");
    return deleted;
  });
}

}  // namespace giftsync::store
