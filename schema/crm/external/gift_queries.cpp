// schema/crm/external: reads gift records from an external table.
#include "schema/crm/external/gift_records.h"
#include "schema/crm/external/gift_sql.h"
#include "schema/crm/external/invalid_external_ids.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/sql_common/gift_values.h"
#include "schema/crm/sql_common/transaction_rows.h"
#include "schema/crm_id.h"

namespace giftsync::schema::crm::external {
namespace {

std::string select_list(const MappedTables& tables) {
  std::string names = "0";  // there is no version
  for (std::size_t i = 0; i < kGiftFieldCount; ++i)
    names += ", " + tables.gift_text(static_cast<GiftField>(i));
  return names;
}

/// What the managed CRM computes; a replicated formula may be behind.
void add_formulas(GiftRecord& record) {
  const auto time = [&](GiftField field) { return std::get_if<platform::UtcMillis>(&record.get(field)); };
  record.set(GiftField::opened, time(GiftField::opened_time) != nullptr);
  record.set(GiftField::redeemed, time(GiftField::redeemed_time) != nullptr);
  const platform::UtcMillis* delivered = time(GiftField::delivered_time);
  const platform::UtcMillis* undelivered = time(GiftField::undelivered_time);
  record.set(GiftField::delivered, delivered && (!undelivered || delivered->value >= undelivered->value));
}

template <class... Parameters>
std::vector<GiftRecord> select_gifts(soci::session& session, const MappedTables& tables,
                                     const std::string& where, const Parameters&... parameters) {
  std::vector<GiftRecord> records =
      sql_common::select_gifts(session,
                               "SELECT " + select_list(tables) + " FROM " + tables.table(kGiftObject) +
                                   " t WHERE " + tables.not_deleted("t", kGiftObject) + " AND " + where,
                               parameters...);
  for (GiftRecord& record : records) add_formulas(record);
  return records;
}

std::string has_valid_id_condition(const MappedTables& tables) {
  const sql_common::Column* column = tables.type(kGiftObject, kTransaction);
  return sql_common::valid_transaction_id_condition(
      tables.dialect(), tables.column("t", kGiftObject, kTransaction), column ? column->sql_type : "");
}

/// The transactions of the records; the condition follows. Conditions compare the unmodified column, so that
/// its index applies, and then the integer: beyond 2^53 a double may be inexact.
std::string select_ids(const MappedTables& tables) {
  return "SELECT " + transaction_of(tables, "t", kGiftObject) + " FROM " + tables.table(kGiftObject) +
         " t WHERE " + tables.not_deleted("t", kGiftObject) + " AND ";
}

}  // namespace

std::vector<GiftRecord> ExternalGiftRecords::page(TransactionId after, std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return select_gifts(session, tables,
                        column + " > :after AND " + has_valid_id_condition(tables) + " ORDER BY " + column +
                            " LIMIT " + std::to_string(limit),
                        after);
  });
}

std::vector<GiftRecord> ExternalGiftRecords::page_in_status(Status status, TransactionId after,
                                                            std::size_t limit) {
  if (!has_field(GiftField::status)) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return select_gifts(session, tables,
                        "t." + quoted_column(tables, GiftField::status) + " = :status AND " + column +
                            " > :after AND " + has_valid_id_condition(tables) + " ORDER BY " + column +
                            " LIMIT " + std::to_string(limit),
                        std::string(to_word(status)), after);
  });
}

std::vector<GiftRecord> gifts_of_transactions(soci::session& session, const MappedTables& tables,
                                              std::span<const TransactionId> transactions) {
  std::vector<std::int64_t> ids;
  for (const TransactionId id : transactions) ids.push_back(id.value);
  const std::string column = tables.column("t", kGiftObject, kTransaction);
  return select_gifts(session, tables, sql::in_list(tables.dialect(), column, "ids", false),
                      sql::list_of(tables.dialect(), ids));
}

std::vector<GiftRecord> ExternalGiftRecords::find(std::span<const TransactionId> transactions) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    return gifts_of_transactions(session, tables, transactions);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_between(TransactionId from,
                                                                        TransactionId below,
                                                                        std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return sql_common::select_transaction_ids(
        session,
        select_ids(tables) + column + " >= :from AND " + column + " <= :most AND " +
            has_valid_id_condition(tables) + " AND " + transaction_of(tables, "t", kGiftObject) +
            " < :below ORDER BY " + column + " LIMIT " + std::to_string(limit),
        from, below, below);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_below(TransactionId below,
                                                                      std::size_t limit) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = tables.column("t", kGiftObject, kTransaction);
    return sql_common::select_transaction_ids(
        session,
        select_ids(tables) + column + " <= :most AND " + has_valid_id_condition(tables) + " AND " +
            transaction_of(tables, "t", kGiftObject) + " < :below ORDER BY " + column + " DESC LIMIT " +
            std::to_string(limit),
        below, below);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_by_email(const std::string& address) {
  if (!has_field(GiftField::recipient_email)) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string email = "t." + quoted_column(tables, GiftField::recipient_email);
    return sql_common::select_transaction_ids(
        session,
        select_ids(tables) + email_expression(tables, email) + " = :address AND " +
            has_valid_id_condition(tables) + " ORDER BY " + tables.column("t", kGiftObject, kTransaction),
        address);
  });
}

std::vector<TransactionId> ExternalGiftRecords::transaction_ids_by_contact(const std::string& contact) {
  if (!has_field(GiftField::recipient_contact)) return {};
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    const std::string column = "t." + quoted_column(tables, GiftField::recipient_contact);
    // The column may be a number or a UUID; on PostgreSQL its text is compared, and an index of text serves.
    const bool has_types = tables.dialect() == sql::Dialect::postgresql;
    return sql_common::select_transaction_ids(
        session,
        select_ids(tables) + (has_types ? "cast(" + column + " as text)" : column) +
            " IN (:contact, :short) AND " + has_valid_id_condition(tables) + " ORDER BY " +
            tables.column("t", kGiftObject, kTransaction),
        long_crm_id(contact), short_crm_id(contact));
  });
}

std::int64_t ExternalGiftRecords::count() {
  return crm_.read([](soci::session& session, const MappedTables& tables) {
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.rows(kGiftObject), soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

std::int64_t count_invalid_transaction_ids(const ExternalCrmOptions& options) {
  ExternalDatabase crm(options);
  return crm.read([](soci::session& session, const MappedTables& tables) {
    long long count = 0;
    session << "SELECT count(*) FROM " + tables.table(kGiftObject) + " t WHERE " +
                   tables.not_deleted("t", kGiftObject) + " AND CASE WHEN " +
                   tables.column("t", kGiftObject, kTransaction) + " > 0 AND " +
                   has_valid_id_condition(tables) + " THEN 0 ELSE 1 END = 1",
        soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

}  // namespace giftsync::schema::crm::external
