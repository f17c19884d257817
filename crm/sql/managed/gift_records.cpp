#include "crm/sql/managed/gift_records.h"

#include <algorithm>
#include <array>
#include <optional>

#include "crm/sql/columns.h"
#include "crm/sql/gift_values.h"
#include "crm/sql/managed/gift_table.h"
#include "crm/sql/transaction_rows.h"
#include "schema/ids.h"
#include "schema/sql/bulk_rows.h"

namespace giftsync::crm::managed {
namespace {

const std::string kSelectIds = "SELECT recipienttransactionid FROM crm_gift_record WHERE ";

/// Plain SQL may have written anything on SQLite.
std::string has_valid_id_condition(sql::Dialect dialect) {
  return crm::sql_crm::valid_transaction_id_condition(dialect, "crm_gift_record.recipienttransactionid",
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
      [&](soci::session& session) { return crm::sql_crm::select_gifts(session, query, parameters...); });
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
  return select_records(
      database_, sql::in_list(database_.dialect(), "crm_gift_record.recipienttransactionid", "ids", false),
      sql::list_of(database_.dialect(), transactions));
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
    return crm::sql_crm::select_transaction_ids(
        session,
        kSelectIds + "recipienttransactionid >= :from AND recipienttransactionid < :below AND " +
            has_valid_id_condition(session) + " ORDER BY recipienttransactionid LIMIT " +
            std::to_string(limit),
        from, below);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_below(TransactionId below, std::size_t limit) {
  return database_.read([&](soci::session& session) {
    return crm::sql_crm::select_transaction_ids(
        session,
        kSelectIds + "recipienttransactionid < :below AND " + has_valid_id_condition(session) +
            " ORDER BY recipienttransactionid DESC LIMIT " + std::to_string(limit),
        below);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_by_email(const std::string& address) {
  return database_.read([&](soci::session& session) {
    return crm::sql_crm::select_transaction_ids(
        session,
        kSelectIds + crm::sql_crm::email_key_expression(session, "recipient_email") + " = :address AND " +
            has_valid_id_condition(session) + " ORDER BY recipienttransactionid",
        address);
  });
}

std::vector<TransactionId> ManagedGiftRecords::transaction_ids_by_contact(const std::string& contact) {
  return database_.read([&](soci::session& session) {
    return crm::sql_crm::select_transaction_ids(session,
                                                kSelectIds + "recipientcontactid IN (:contact, :short) AND " +
                                                    has_valid_id_condition(session) +
                                                    " ORDER BY recipienttransactionid",
                                                long_crm_id(contact), short_crm_id(contact));
  });
}

// Reads the status timestamps of gift records, and fills missing ones.

namespace {

using Type = sql::BulkRows::Type;

const FieldDescriptor& time_field(Status status) {
  return descriptor_of(time_field_of(status));
}

/// What the column holds; an empty text, as CSV files leave it in SQLite, is nothing.
std::string current_value(sql::Dialect dialect, const std::string& column) {
  const std::string cell = "crm_gift_record." + column;
  return dialect == sql::Dialect::sqlite ? "nullif(" + cell + ", '')" : cell;
}

/// "column = coalesce(column, new value), ..."
std::string assignments(sql::Dialect dialect, const std::string& given) {
  std::string text = "lastmodifieddate = " + crm::sql_crm::now_expression(dialect);
  for (const Status status : kAllStatuses) {
    const std::string column(time_field(status).column);
    text += ", " + column + " = coalesce(" + current_value(dialect, column) + ", cast(" + given + column +
            " as " + std::string(time_type(dialect)) + "))";
  }
  return text;
}

/// At least one of the new times is for an empty column.
std::string fills_empty_condition(sql::Dialect dialect, const std::string& given) {
  std::string text;
  for (const Status status : kAllStatuses) {
    const std::string column(time_field(status).column);
    text += std::string(text.empty() ? "(" : " OR ") + "(" + current_value(dialect, column) +
            " IS NULL AND " + given + column + " IS NOT NULL)";
  }
  return text + ")";
}

/// The input rows are a range of ids; with the range PostgreSQL does not scan the whole table.
std::string id_range_condition(std::span<const GiftStatusTimes> times) {
  const auto [lowest, highest] = std::minmax_element(
      times.begin(), times.end(),
      [](const GiftStatusTimes& a, const GiftStatusTimes& b) { return a.transaction < b.transaction; });
  return " AND crm_gift_record.recipienttransactionid BETWEEN " + std::to_string(lowest->transaction.value) +
         " AND " + std::to_string(highest->transaction.value);
}

sql::BulkRows rows_of(sql::Dialect dialect, std::span<const GiftStatusTimes> times) {
  std::vector<sql::BulkRows::Column> columns{{"recipienttransactionid", Type::integer}};
  for (const Status status : kAllStatuses) columns.push_back({time_field(status).column, Type::text});
  sql::BulkRows rows(dialect, std::move(columns));
  for (const GiftStatusTimes& status_times : times) {
    std::array<std::string, kAllStatuses.size()> texts;
    std::vector<sql::Cell> cells{status_times.transaction.value};
    for (const Status status : kAllStatuses) {
      std::string& text = texts[static_cast<std::size_t>(status)];
      const std::optional<UtcMillis>& time = status_times.times[status];
      if (time) text = to_rfc3339(*time);
      cells.push_back(time ? sql::Cell(std::string_view(text)) : sql::Cell());
    }
    rows.add(cells);
  }
  return rows;
}

}  // namespace

std::vector<GiftStatusTimes> ManagedGiftRecords::find_status_times(
    std::span<const TransactionId> transactions) {
  const std::string list = sql::list_of(database_.dialect(), transactions);
  std::string query = "SELECT crm_gift_record.recipienttransactionid";
  for (const Status status : kAllStatuses)
    query += ", " + read_expression(time_field(status), database_.dialect());
  query += " FROM crm_gift_record WHERE " +
           sql::in_list(database_.dialect(), "crm_gift_record.recipienttransactionid", "ids", false);
  return database_.read([&](soci::session& session) {
    TransactionId id;
    std::array<std::optional<std::string>, kAllStatuses.size()> texts;
    soci::statement statement(session);
    statement.exchange(soci::into(id));
    for (auto& text : texts) statement.exchange(soci::into(text));
    statement.exchange(soci::use(list));
    statement.alloc();
    statement.prepare(query, sql::kRunOnce);
    statement.define_and_bind();
    std::vector<GiftStatusTimes> found;
    sql::each_row(statement, [&] {
      GiftStatusTimes& status_times = found.emplace_back();
      status_times.transaction = id;
      for (const Status status : kAllStatuses) {
        const auto& text = texts[static_cast<std::size_t>(status)];
        const FieldValue value = text ? crm::sql_crm::value_of(time_field(status), *text) : FieldValue();
        if (const auto* time = std::get_if<UtcMillis>(&value)) status_times.times[status] = *time;
      }
    });
    return found;
  });
}

std::vector<TransactionId> ManagedGiftRecords::fill_status_times(std::span<const GiftStatusTimes> times) {
  if (times.empty()) return {};
  return database_.write([&](soci::session& session) {
    sql::BulkRows rows = rows_of(session, times);
    const std::string update = "UPDATE crm_gift_record SET ";
    const std::string where_id = " WHERE crm_gift_record.recipienttransactionid = ";
    const std::vector<std::int64_t> touched = rows.run_returning_keys(
        session,
        update + assignments(session, ":") + where_id + ":recipienttransactionid AND " +
            fills_empty_condition(session, ":"),
        update + assignments(session, "input_row.") + " FROM " + rows.as_table() + where_id +
            "input_row.recipienttransactionid AND " + fills_empty_condition(session, "input_row.") +
            id_range_condition(times) + " RETURNING crm_gift_record.recipienttransactionid");
    std::vector<TransactionId> ids;
    for (const std::int64_t id : touched) ids.push_back({id});
    return ids;
  });
}

}  // namespace giftsync::crm::managed
