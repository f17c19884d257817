#include "schema/store/store_stats.h"

#include "schema/store/gift/gift_rows.h"
#include "schema/store/statements/bounded_queries.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

void count_requests(soci::session& session, StoreStats& stats) {
  for (const RequestRecordState state : kAllRequestRecordStates)
    stats.requests[static_cast<std::size_t>(state)] = count_bounded(
        session, "request_record_state WHERE deleted = 0 AND state = '" + std::string(to_word(state)) + "'");
  // With the condition of the index request_record_state_error.
  const std::string in_error =
      "request_record_state WHERE deleted = 0 AND error <> '' AND state NOT IN ('sent', 'rejected')";
  stats.requests_in_error = count_bounded(session, in_error);
  soci::statement last =
      sql::bound(session, "SELECT number, error FROM " + in_error + " ORDER BY number DESC LIMIT 1",
                 into(stats.last_request_in_error), into(stats.request_error));
  sql::each_row(last, [] {});
}

DueTimers count_deadlines(soci::session& session, UtcMillis until) {
  DueTimers timers;
  timers.due = count_bounded(
      session, "recipient_transaction WHERE due_at IS NOT NULL AND due_at <= :until AND is_test = 0",
      use(until));
  timers.next =
      sql::first_of(sql::select_column<UtcMillis>(session,
                                                  "SELECT due_at FROM recipient_transaction WHERE due_at IS "
                                                  "NOT NULL AND is_test = 0 ORDER BY due_at LIMIT 1"));
  return timers;
}

/// Bounded by rows: changes have no index by time, which would cost each of them.
void count_gifts_in_future(soci::session& session, UtcMillis now, StoreStats& stats) {
  constexpr int kChanges = 20'000;
  const std::string future = std::to_string(now.value + kHourMillis);
  const std::string sent = "SELECT id FROM recipient_transaction WHERE sent_at > " + future +
                           " AND is_test = 0 LIMIT " + std::to_string(kMaxCounted + 1);
  const std::string latest =
      "SELECT transaction_id, occurred_at, voided_at, orphaned FROM change_log ORDER BY id DESC LIMIT " +
      std::to_string(kChanges);
  stats.gifts_in_future = count_bounded(
      session, "(SELECT id FROM (" + sent + ") s UNION SELECT transaction_id FROM (" + latest +
                   ") l WHERE occurred_at > " + future + " AND voided_at IS NULL AND orphaned = 0 AND " +
                   test_gift_condition("l.transaction_id", false) + ") f");
}

}  // namespace

StoreStats store_stats(const sql::Dsn& dsn, UtcMillis now, UtcMillis soon) {
  return sql::Database::shared(dsn)->read([&](soci::session& session) {
    StoreStats stats;
    count_requests(session, stats);
    const DueTimers timers = count_deadlines(session, soon);
    stats.due_until_horizon = timers.due;
    stats.next_due = timers.next;
    count_gifts_in_future(session, now, stats);
    return stats;
  });
}

DueTimers due_timers(const sql::Dsn& dsn, UtcMillis until) {
  return sql::Database::shared(dsn)->read(
      [&](soci::session& session) { return count_deadlines(session, until); });
}

std::int64_t database_bytes(const sql::Dsn& dsn) {
  return sql::Database::shared(dsn)->read([](soci::session& session) {
    return sql::select_value<std::int64_t>(session, "SELECT pg_database_size(current_database())");
  });
}

}  // namespace giftsync::store
