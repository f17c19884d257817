#include "schema/store/gift/gift_codes.h"

#include <algorithm>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/queries.h"

namespace giftsync::store {
namespace {

using soci::into;
using soci::use;

bool has_codes(soci::session& session, GiftId gift) {
  return sql::has_row(session, "gift_code WHERE gift_id = :gift", use(gift));
}

/// From an acceptance that was voided since: it is the recipient's for good.
bool has_code(soci::session& session, TransactionId transaction) {
  return sql::has_row(session, "gift_code WHERE transaction_id = :transaction", use(transaction));
}

/// On PostgreSQL codes that others are taking at this moment are passed over, not waited for.
bool assign_one(soci::session& session, GiftId gift, TransactionId transaction, UtcMillis now) {
  const std::int64_t assigned = sql::change_rows(
      session,
      "UPDATE gift_code SET transaction_id = :transaction, assigned_at = :now WHERE id = (SELECT id FROM "
      "gift_code WHERE gift_id = :gift AND transaction_id IS NULL ORDER BY id LIMIT 1" +
          std::string(sql::Dialect(session) == sql::Dialect::postgresql ? " FOR UPDATE SKIP LOCKED)" : ")"),
      use(transaction), use(now), use(gift));
  return assigned == 1;
}

}  // namespace

GiftCodes::GiftCodes(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::int64_t GiftCodes::import(GiftId gift, std::span<const std::string> codes, UtcMillis now) {
  using Type = sql::BulkInsert::Type;
  return database_->write([&](soci::session& session) {
    sql::BulkInsert rows(session, "gift_code",
                         {{"gift_id", Type::integer}, {"code", Type::text}, {"imported_at", Type::integer}},
                         "ON CONFLICT DO NOTHING");
    for (const std::string& code : codes) rows.add({gift.value, code, now.value});
    return rows.empty() ? std::int64_t{0} : rows.run(session);
  });
}

TransactionEffect GiftCodes::assign_code(GiftId gift, TransactionId transaction, UtcMillis now) {
  return [gift, transaction, now](soci::session& session) {
    return has_code(session, transaction) || assign_one(session, gift, transaction, now) ||
           !has_codes(session, gift);
  };
}

std::optional<std::string> GiftCodes::find_code(TransactionId transaction) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(sql::select_column<std::string>(
        session, "SELECT code FROM gift_code WHERE transaction_id = :transaction", use(transaction)));
  });
}

std::int64_t GiftCodes::count_unassigned(GiftId gift, std::int64_t max_count) {
  return database_->read([&](soci::session& session) {
    return sql::select_value<std::int64_t>(
        session,
        "SELECT count(*) FROM (SELECT 1 FROM gift_code WHERE gift_id = :gift AND transaction_id IS NULL "
        "LIMIT :max_count) codes_left",
        use(gift), use(max_count));
  });
}

std::vector<GiftCodeCounts> GiftCodes::counts(std::int64_t exact_left) {
  std::vector<GiftCodeCounts> found = database_->read([&](soci::session& session) {
    GiftCodeCounts row;
    return sql::select_rows(row, session, gift_code_counts_query(std::max(kMaxCounted, exact_left)),
                            into(row.gift), into(row.left), into(row.handed_out));
  });
  std::sort(found.begin(), found.end(),
            [](const GiftCodeCounts& a, const GiftCodeCounts& b) { return a.gift < b.gift; });
  return found;
}

}  // namespace giftsync::store
