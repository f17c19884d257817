#include "schema/store/store_stats.h"

#include "schema/sql/queries.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

void count_requests(soci::session& session, StoreStats& stats) {
  std::string state;
  long long count = 0;
  soci::statement by_state =
      sql::bound(session, "SELECT state, count(*) FROM request_record_state WHERE deleted = 0 GROUP BY state",
                 into(state), into(count));
  sql::each_row(by_state, [&] {
    for (const RequestRecordState one : kAllRequestRecordStates) {
      if (to_word(one) == state) stats.requests[static_cast<std::size_t>(one)] = count;
    }
  });
  const std::string in_error =
      " FROM request_record_state WHERE deleted = 0 AND error <> '' AND state NOT IN ('sent', 'rejected')";
  stats.requests_in_error = sql::select_value<std::int64_t>(session, "SELECT count(*)" + in_error);
  soci::statement last =
      sql::bound(session, "SELECT number, error" + in_error + " ORDER BY number DESC LIMIT 1",
                 into(stats.last_request_in_error), into(stats.request_error));
  sql::each_row(last, [] {});
}

void count_deadlines(soci::session& session, platform::UtcMillis soon, StoreStats& stats) {
  stats.due_until_horizon = sql::select_value<std::int64_t>(
      session, "SELECT count(*) FROM recipient_transaction WHERE due_at IS NOT NULL AND due_at <= :soon",
      use(soon));
  stats.next_due = sql::first_of(sql::select_column<platform::UtcMillis>(
      session, "SELECT due_at FROM recipient_transaction WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1"));
}

}  // namespace

StoreStats store_stats(const sql::Dsn& dsn, platform::UtcMillis soon) {
  return sql::Database::shared(dsn)->read([&](soci::session& session) {
    StoreStats stats;
    count_requests(session, stats);
    count_deadlines(session, soon, stats);
    return stats;
  });
}

}  // namespace giftsync::schema::store
