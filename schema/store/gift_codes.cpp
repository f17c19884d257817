#include "schema/store/gift_codes.h"

#include "schema/sql/bulk_insert.h"
#include "schema/sql/database.h"

namespace giftsync::schema::store {
namespace {

using soci::into;
using soci::use;

bool has_codes(soci::session& session, GiftId gift) {
  long long found = 0;
  session << "SELECT count(*) FROM (SELECT 1 FROM gift_code WHERE gift_id = :gift LIMIT 1) first_code",
      use(gift), into(found);
  return found > 0;
}

/// From an acceptance that was voided since: it is the recipient's for good.
bool has_code(soci::session& session, TransactionId transaction) {
  long long found = 0;
  session << "SELECT count(*) FROM gift_code WHERE transaction_id = :transaction", use(transaction),
      into(found);
  return found > 0;
}

/// On PostgreSQL codes that others are taking at this moment are passed over, not waited for.
bool assign_one(soci::session& session, sql::Dialect dialect, GiftId gift, TransactionId transaction,
                platform::UtcMillis now) {
  soci::statement update = sql::bound(
      session,
      "UPDATE gift_code SET transaction_id = :transaction, assigned_at = :now WHERE id = (SELECT id FROM "
      "gift_code WHERE gift_id = :gift AND transaction_id IS NULL ORDER BY id LIMIT 1" +
          std::string(dialect == sql::Dialect::postgresql ? " FOR UPDATE SKIP LOCKED)" : ")"),
      use(transaction), use(now), use(gift));
  update.execute(true);
  return update.get_affected_rows() == 1;
}

}  // namespace

GiftCodes::GiftCodes(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::int64_t GiftCodes::import(GiftId gift, std::span<const std::string> codes, platform::UtcMillis now) {
  using Type = sql::BulkInsert::Type;
  return database_->write([&](soci::session& session) {
    sql::BulkInsert rows(database_->dialect(), "gift_code",
                         {{"gift_id", Type::integer}, {"code", Type::text}, {"imported_at", Type::integer}},
                         "ON CONFLICT DO NOTHING");
    for (const std::string& code : codes) rows.add({gift.value, code, now.value});
    return rows.empty() ? std::int64_t{0} : rows.run(session);
  });
}

TransactionEffect GiftCodes::assign_code(GiftId gift, TransactionId transaction, platform::UtcMillis now) {
  return [gift, transaction, now, dialect = database_->dialect()](soci::session& session) {
    return has_code(session, transaction) || assign_one(session, dialect, gift, transaction, now) ||
           !has_codes(session, gift);
  };
}

std::optional<std::string> GiftCodes::find_code(TransactionId transaction) {
  return database_->read([&](soci::session& session) {
    std::optional<std::string> found;
    std::string code;
    soci::statement statement =
        sql::bound(session, "SELECT code FROM gift_code WHERE transaction_id = :transaction",
                   use(transaction), into(code));
    sql::each_row(statement, [&] { found = code; });
    return found;
  });
}

std::int64_t GiftCodes::count_unassigned(GiftId gift, std::int64_t max_count) {
  return database_->read([&](soci::session& session) {
    long long count = 0;
    const long long limit = max_count;
    session << "SELECT count(*) FROM (SELECT 1 FROM gift_code WHERE gift_id = :gift AND transaction_id IS "
               "NULL LIMIT :max_count) codes_left",
        use(gift), use(limit), into(count);
    return std::int64_t{count};
  });
}

std::vector<GiftCodeCounts> GiftCodes::counts() {
  return database_->read([](soci::session& session) {
    GiftId gift;
    long long all = 0;
    long long handed_out = 0;
    soci::statement statement = sql::bound(
        session,
        "SELECT gift_id, count(*), count(transaction_id) FROM gift_code GROUP BY gift_id ORDER BY gift_id",
        into(gift), into(all), into(handed_out));
    std::vector<GiftCodeCounts> counts;
    sql::each_row(statement, [&] { counts.push_back({gift, all - handed_out, handed_out}); });
    return counts;
  });
}

}  // namespace giftsync::schema::store
