// schema/crm/managed: reads the status timestamps of gift records, and fills missing ones.
#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "schema/crm/managed/gift_records.h"
#include "schema/crm/managed/gift_table.h"
#include "schema/crm/sql_common/gift_values.h"
#include "schema/crm/sql_common/transaction_rows.h"
#include "schema/sql/bulk_rows.h"

namespace giftsync::schema::crm::managed {
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
  std::string text = "lastmodifieddate = " + sql_common::now_expression(dialect);
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
  for (const GiftStatusTimes& one : times) {
    std::array<std::string, kAllStatuses.size()> texts;
    std::vector<sql::Cell> cells{one.transaction.value};
    for (const Status status : kAllStatuses) {
      std::string& text = texts[static_cast<std::size_t>(status)];
      const std::optional<platform::UtcMillis>& time = one.times[status];
      if (time) text = platform::to_rfc3339(*time);
      cells.push_back(time ? sql::Cell(std::string_view(text)) : sql::Cell());
    }
    rows.add(cells);
  }
  return rows;
}

}  // namespace

std::vector<GiftStatusTimes> ManagedGiftRecords::find_status_times(
    std::span<const TransactionId> transactions) {
  std::vector<std::int64_t> ids;
  for (const TransactionId id : transactions) ids.push_back(id.value);
  const std::string list = sql::list_of(database_.dialect(), ids);
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
      GiftStatusTimes& one = found.emplace_back();
      one.transaction = id;
      for (const Status status : kAllStatuses) {
        const auto& text = texts[static_cast<std::size_t>(status)];
        const FieldValue value = text ? sql_common::value_of(time_field(status), *text) : FieldValue();
        if (const auto* time = std::get_if<platform::UtcMillis>(&value)) one.times[status] = *time;
      }
    });
    return found;
  });
}

std::vector<TransactionId> ManagedGiftRecords::fill_status_times(std::span<const GiftStatusTimes> times) {
  if (times.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  return database_.write([&](soci::session& session) {
    sql::BulkRows rows = rows_of(dialect, times);
    const std::string update = "UPDATE crm_gift_record SET ";
    const std::string where_id = " WHERE crm_gift_record.recipienttransactionid = ";
    const std::vector<std::int64_t> touched = rows.run_returning_keys(
        session,
        update + assignments(dialect, ":") + where_id + ":recipienttransactionid AND " +
            fills_empty_condition(dialect, ":"),
        update + assignments(dialect, "input_row.") + " FROM " + rows.as_table() + where_id +
            "input_row.recipienttransactionid AND " + fills_empty_condition(dialect, "input_row.") +
            id_range_condition(times) + " RETURNING crm_gift_record.recipienttransactionid");
    std::vector<TransactionId> ids;
    for (const std::int64_t id : touched) ids.push_back({id});
    return ids;
  });
}

}  // namespace giftsync::schema::crm::managed
