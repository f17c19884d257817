#include "schema/store/gift_locks.h"

#include "schema/sql/queries.h"
#include "schema/store/leases.h"

namespace giftsync::schema::store {
namespace {

constexpr LeasedTable kGifts{"recipient_transaction", "id", ""};

}  // namespace

void lock_gifts(soci::session& session, sql::Dialect dialect, const std::vector<std::int64_t>& ids) {
  lock_in_order(session, dialect, kGifts, ids);
}

void lock_new_gifts(soci::session& session, sql::Dialect dialect, const std::vector<std::int64_t>& ids) {
  if (dialect == sql::Dialect::sqlite || ids.empty()) return;
  const std::string list = sql::list_of(dialect, ids);
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

}  // namespace giftsync::schema::store
