#include "schema/crm/managed/gift_records.h"
#include "schema/crm/managed/gift_table.h"
#include "schema/crm/sql_common/columns.h"
#include "schema/crm/sql_common/gift_values.h"
#include "schema/crm/sql_common/transaction_rows.h"
#include "schema/crm_id.h"

namespace giftsync::schema::crm::managed {

namespace {

const std::string kSelectIds = "SELECT recipienttransactionid FROM crm_gift_record WHERE ";

/// Plain SQL may have written anything on SQLite.
std::string has_valid_id_condition(sql::Dialect dialect) {
  return sql_common::valid_transaction_id_condition(dialect, "crm_gift_record.recipienttransactionid",
                                                    "bigint");
}

/// `where` and what follows it name the parameters in order.
template <class... Parameters>
std::vector<GiftRecord> select_records(sql::Database& database, const std::string& where,
                                       const Parameters&... parameters) {
  std::string names = "record_version";
  for (const FieldDescriptor& field : kGiftFields) names += ", " + raw_expression(field, database.dialect());
  const std::string query = "SELECT " + names + " FROM crm_gift_record WHERE " + where;
  return database.read(
      [&](soci::session& session) { return sql_common::select_gifts(session, query, parameters...); });
}

/// The table is named in ORDER BY, because the column alone would be the text of the select list.
std::string in_order(const sql::Database& database, std::size_t limit) {
  return has_valid_id_condition(database.dialect()) +
         " ORDER BY crm_gift_record.recipienttransactionid LIMIT " + std::to_string(limit);
}

}  // namespace

std::vector<GiftRecord> ManagedGiftRecords::page(TransactionId after, std::size_t limit) {
  return select_records(database_, "recipienttransactionid > :after AND " + in_order(database_, limit),
                        after);
}

std::vector<GiftRecord> ManagedGiftRecords::page_in_status(Status status, TransactionId after,
                                                           std::size_t limit) {
  return select_records(
      database_,
      "recipienttransactionstatus = :status AND crm_gift_record.recipienttransactionid > :after AND " +
          in_order(database_, limit),
      std::string(to_word(status)), after);
}

std::vector<GiftRecord> ManagedGiftRecords::find(std::span<const TransactionId> transactions) {
  std::vector<std::int64_t> ids;
  for (const TransactionId id : transactions) ids.push_back(id.value);
  return select_records(
      database_, sql::in_list(database_.dialect(), "crm_gift_record.recipienttransactionid", "ids", false),
      sql::list_of(database_.dialect(), ids));
}

std::int64_t ManagedGiftRecords::count() {
  return database_.read([](soci::session& session) {
    long long count = 0;
    session << "SELECT count(*) FROM crm_gift_record", soci::into(count);
    return static_cast<std::int64_t>(count);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_between(TransactionId from,
                                                                       TransactionId below,
                                                                       std::size_t limit) {
  return database_.read([&](soci::session& session) {
    return sql_common::select_transaction_ids(
        session,
        kSelectIds + "recipienttransactionid >= :from AND recipienttransactionid < :below AND " +
            has_valid_id_condition(database_.dialect()) + " ORDER BY recipienttransactionid LIMIT " +
            std::to_string(limit),
        from, below);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_below(TransactionId below, std::size_t limit) {
  return database_.read([&](soci::session& session) {
    return sql_common::select_transaction_ids(
        session,
        kSelectIds + "recipienttransactionid < :below AND " + has_valid_id_condition(database_.dialect()) +
            " ORDER BY recipienttransactionid DESC LIMIT " + std::to_string(limit),
        below);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_by_email(const std::string& address) {
  return database_.read([&](soci::session& session) {
    return sql_common::select_transaction_ids(
        session,
        kSelectIds + sql_common::email_key_expression(database_.dialect(), "recipient_email") +
            " = :address AND " + has_valid_id_condition(database_.dialect()) +
            " ORDER BY recipienttransactionid",
        address);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_by_contact(const std::string& contact) {
  return database_.read([&](soci::session& session) {
    return sql_common::select_transaction_ids(session,
                                              kSelectIds + "recipientcontactid IN (:contact, :short) AND " +
                                                  has_valid_id_condition(database_.dialect()) +
                                                  " ORDER BY recipienttransactionid",
                                              long_crm_id(contact), short_crm_id(contact));
  });
}

}  // namespace giftsync::schema::crm::managed
