#include "schema/store/store_glance.h"

#include "schema/sql/database.h"

namespace giftsync::schema {
namespace {

using soci::into;
using soci::use;

void count_requests(soci::session& session, StoreGlance& glance) {
  std::string state;
  long long count = 0;
  soci::statement by_state =
      sql::bound(session, "SELECT state, count(*) FROM request_state WHERE deleted = 0 GROUP BY state",
                 into(state), into(count));
  sql::each_row(by_state, [&] {
    for (const RequestState one : kAllRequestStates) {
      if (to_word(one) == state) glance.requests[static_cast<std::size_t>(one)] = count;
    }
  });
  const std::string in_error =
      " FROM request_state WHERE deleted = 0 AND error <> '' AND state NOT IN ('sent', 'rejected')";
  session << "SELECT count(*)" + in_error, into(count);
  glance.requests_in_error = count;
  soci::statement last =
      sql::bound(session, "SELECT number, error" + in_error + " ORDER BY number DESC LIMIT 1",
                 into(glance.request_in_error), into(glance.request_error));
  sql::each_row(last, [] {});
}

void count_deadlines(soci::session& session, UtcMillis soon, StoreGlance& glance) {
  long long count = 0;
  session << "SELECT count(*) FROM recipient_transaction WHERE due_at IS NOT NULL AND due_at <= :soon",
      use(soon), into(count);
  glance.due_soon = count;
  UtcMillis next;
  soci::statement first = sql::bound(
      session, "SELECT due_at FROM recipient_transaction WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1",
      into(next));
  sql::each_row(first, [&] { glance.next_due = next; });
}

}  // namespace

StoreGlance store_glance(const DatabaseAddress& address, UtcMillis soon) {
  return sql::Database::of(address)->read([&](soci::session& session) {
    StoreGlance glance;
    count_requests(session, glance);
    count_deadlines(session, soon, glance);
    return glance;
  });
}

}  // namespace giftsync::schema
