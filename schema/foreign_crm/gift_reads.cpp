// schema/foreign_crm: gift records read from somebody else's table.
#include "schema/foreign_crm/gift_statements.h"
#include "schema/foreign_crm/gifts_without_id.h"
#include "schema/foreign_crm/records.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::foreign_crm {
namespace {

std::string select_list(const Tables& tables) {
  std::string names;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i)
    names += (i == 0 ? "" : ", ") + tables.gift_text(static_cast<GiftField>(i));
  return names;
}

/// What the managed CRM computes; a replicated formula may be behind.
void add_formulas(GiftRecord& record) {
  const auto time = [&](GiftField field) { return std::get_if<UtcMillis>(&record.get(field)); };
  record.set(GiftField::opened, time(GiftField::opened_time) != nullptr);
  record.set(GiftField::redeemed, time(GiftField::redeemed_time) != nullptr);
  const UtcMillis* delivered = time(GiftField::delivered_time);
  const UtcMillis* undelivered = time(GiftField::undelivered_time);
  record.set(GiftField::delivered, delivered && (!undelivered || delivered->value >= undelivered->value));
}

template <class Parameter>
std::vector<GiftRecord> select_gifts(soci::session& session, const Tables& tables, const std::string& where,
                                     const Parameter& parameter) {
  const std::string query =
      "SELECT " + select_list(tables) + " FROM " + tables.table(kGift) + " t WHERE " + where;
  std::vector<GiftRecord> records;
  sql_crm::FetchedGift fetched;
  soci::statement statement(session);
  fetched.bind(statement);
  statement.exchange(soci::use(parameter));
  statement.alloc();
  statement.prepare(query, sql::kRunOnce);
  statement.define_and_bind();
  sql::each_row(statement, [&] {
    records.push_back(fetched.record());
    add_formulas(records.back());
  });
  return records;
}

std::string has_whole_id(Dialect dialect, const Tables& tables) {
  const Column* column = tables.type(kGift, kTransaction);
  return sql_crm::is_whole_id(dialect, tables.column("t", kGift, kTransaction),
                              column ? column->sql_type : "");
}

}  // namespace

std::vector<GiftRecord> gifts_above(sql::Database& database, const Tables& tables, TransactionId after,
                                    std::size_t limit) {
  const std::string column = tables.column("t", kGift, kTransaction);
  const std::string where = column + " > :after AND " + has_whole_id(database.dialect(), tables) +
                            " ORDER BY " + column + " LIMIT " + std::to_string(limit);
  return database.read([&](soci::session& session) { return select_gifts(session, tables, where, after); });
}

std::vector<GiftRecord> gifts_of(soci::session& session, Dialect dialect, const Tables& tables,
                                 std::span<const TransactionId> transactions) {
  std::vector<std::int64_t> ids;
  for (const TransactionId id : transactions) ids.push_back(id.value);
  return select_gifts(session, tables,
                      sql::in_list(dialect, tables.column("t", kGift, kTransaction), "ids", false),
                      sql::list_of(dialect, ids));
}

std::vector<GiftRecord> find_gifts(sql::Database& database, const Tables& tables,
                                   std::span<const TransactionId> transactions) {
  return database.read(
      [&](soci::session& session) { return gifts_of(session, database.dialect(), tables, transactions); });
}

std::vector<TransactionId> gifts_below(sql::Database& database, const Tables& tables, TransactionId below,
                                       std::size_t limit) {
  const std::string id = transaction_of(database.dialect(), tables, "t", kGift);
  const std::string column = tables.column("t", kGift, kTransaction);
  return database.read([&](soci::session& session) {
    TransactionId found;
    std::vector<TransactionId> ids;
    // By the column as it is, so that its index serves; beyond 2^53 it may be too coarse to tell.
    soci::statement statement =
        sql::bound(session,
                   "SELECT " + id + " FROM " + tables.table(kGift) + " t WHERE " + column + " <= :most AND " +
                       has_whole_id(database.dialect(), tables) + " AND " + id + " < :below ORDER BY " +
                       column + " DESC LIMIT " + std::to_string(limit),
                   soci::use(below, "most"), soci::use(below, "below"), soci::into(found));
    sql::each_row(statement, [&] { ids.push_back(found); });
    return ids;
  });
}

std::vector<TransactionId> gifts_to(sql::Database& database, const Tables& tables,
                                    const std::string& address) {
  if (tables.mapping().gift_column(GiftField::recipient_email).empty()) return {};
  const std::string address_key =
      sql_crm::email_key_text(database.dialect(), "t." + quoted_column(tables, GiftField::recipient_email));
  return database.read([&](soci::session& session) {
    TransactionId found;
    std::vector<TransactionId> ids;
    soci::statement statement = sql::bound(
        session,
        "SELECT " + transaction_of(database.dialect(), tables, "t", kGift) + " FROM " + tables.table(kGift) +
            " t WHERE " + address_key + " = :address AND " + has_whole_id(database.dialect(), tables) +
            " ORDER BY " + tables.column("t", kGift, kTransaction),
        soci::use(address), soci::into(found));
    sql::each_row(statement, [&] { ids.push_back(found); });
    return ids;
  });
}

std::int64_t count_gifts(sql::Database& database, const Tables& tables) {
  return database.read([&](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.table(kGift), soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema::foreign_crm

namespace giftsync::schema {

std::int64_t count_gifts_without_id(const ForeignCrmOptions& options) {
  using namespace foreign_crm;
  sql::Database database(options.database);
  return database.read([&](soci::session& session) {
    const Dialect dialect = database.dialect();
    const Tables tables(dialect, Mapping(dialect, options.names), options, session);
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.table(kGift) + " t WHERE CASE WHEN " +
                   tables.column("t", kGift, kTransaction) + " > 0 AND " + has_whole_id(dialect, tables) +
                   " THEN 0 ELSE 1 END = 1",
        soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema
