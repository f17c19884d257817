#include "schema/sql_crm/record_times.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "schema/sql/bulk_rows.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::sql_crm {
namespace {

using Type = sql::BulkRows::Type;

const RecordField& field_for(Status status) {
  return field_of(time_field_of(status));
}

/// What the column holds; an empty text, as CSV files leave it in SQLite, is nothing.
std::string held(Dialect dialect, const std::string& column) {
  const std::string cell = "crm_gift_record." + column;
  return dialect == Dialect::sqlite ? "nullif(" + cell + ", '')" : cell;
}

/// "column = coalesce(column, what is given), ..."
std::string assignments(Dialect dialect, const std::string& given) {
  std::string text = "lastmodifieddate = " + now_text(dialect);
  for (const Status status : kAllStatuses) {
    const std::string column(field_for(status).column);
    text += ", " + column + " = coalesce(" + held(dialect, column) + ", cast(" + given + column + " as " +
            std::string(time_type(dialect)) + "))";
  }
  return text;
}

/// At least one time is given for a column that is empty.
std::string is_needed(Dialect dialect, const std::string& given) {
  std::string text;
  for (const Status status : kAllStatuses) {
    const std::string column(field_for(status).column);
    text += std::string(text.empty() ? "(" : " OR ") + "(" + held(dialect, column) + " IS NULL AND " + given +
            column + " IS NOT NULL)";
  }
  return text + ")";
}

/// The given rows are a stretch of ids: said so, PostgreSQL does not go through the whole table for them.
std::string in_range(std::span<const RecordTimes> times) {
  const auto [least, most] = std::minmax_element(
      times.begin(), times.end(),
      [](const RecordTimes& a, const RecordTimes& b) { return a.transaction < b.transaction; });
  return " AND crm_gift_record.recipienttransactionid BETWEEN " + std::to_string(least->transaction.value) +
         " AND " + std::to_string(most->transaction.value);
}

sql::BulkRows rows_of(Dialect dialect, std::span<const RecordTimes> times) {
  std::vector<sql::BulkRows::Column> columns{{"recipienttransactionid", Type::integer}};
  for (const Status status : kAllStatuses) columns.push_back({field_for(status).column, Type::text});
  sql::BulkRows rows(dialect, std::move(columns));
  for (const RecordTimes& one : times) {
    std::array<std::string, kAllStatuses.size()> texts;
    std::vector<sql::Cell> cells{one.transaction.value};
    for (const Status status : kAllStatuses) {
      std::string& text = texts[static_cast<std::size_t>(status)];
      const std::optional<UtcMillis>& time = one.times[status];
      if (time) text = to_rfc3339(*time);
      cells.push_back(time ? sql::Cell(std::string_view(text)) : sql::Cell());
    }
    rows.add(cells);
  }
  return rows;
}

}  // namespace

std::vector<RecordTimes> read_record_times(sql::Database& database,
                                           std::span<const TransactionId> transactions) {
  std::vector<std::int64_t> ids;
  for (const TransactionId id : transactions) ids.push_back(id.value);
  const std::string list = sql::list_of(database.dialect(), ids);
  std::string query = "SELECT crm_gift_record.recipienttransactionid";
  for (const Status status : kAllStatuses)
    query += ", " + read_expression(field_for(status), database.dialect());
  query += " FROM crm_gift_record WHERE " +
           sql::in_list(database.dialect(), "crm_gift_record.recipienttransactionid", "ids", false);
  return database.read([&](soci::session& session) {
    TransactionId id;
    std::array<std::optional<std::string>, kAllStatuses.size()> texts;
    soci::statement statement(session);
    statement.exchange(soci::into(id));
    for (auto& text : texts) statement.exchange(soci::into(text));
    statement.exchange(soci::use(list));
    statement.alloc();
    statement.prepare(query, sql::kRunOnce);
    statement.define_and_bind();
    std::vector<RecordTimes> found;
    sql::each_row(statement, [&] {
      RecordTimes& one = found.emplace_back();
      one.transaction = id;
      for (const Status status : kAllStatuses) {
        const auto& text = texts[static_cast<std::size_t>(status)];
        const FieldValue value = text ? value_of(field_for(status), *text) : FieldValue();
        if (const auto* time = std::get_if<UtcMillis>(&value)) one.times[status] = *time;
      }
    });
    return found;
  });
}

std::vector<TransactionId> fill_times(sql::Database& database, std::span<const RecordTimes> times) {
  if (times.empty()) return {};
  const Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    sql::BulkRows rows = rows_of(dialect, times);
    const std::string update = "UPDATE crm_gift_record SET ";
    const std::string its = " WHERE crm_gift_record.recipienttransactionid = ";
    const std::vector<std::int64_t> touched = rows.run_touching(
        session,
        update + assignments(dialect, ":") + its + ":recipienttransactionid AND " + is_needed(dialect, ":"),
        update + assignments(dialect, "row_given.") + " FROM " + rows.as_table() + its +
            "row_given.recipienttransactionid AND " + is_needed(dialect, "row_given.") + in_range(times) +
            " RETURNING crm_gift_record.recipienttransactionid");
    std::vector<TransactionId> ids;
    for (const std::int64_t id : touched) ids.push_back({id});
    return ids;
  });
}

}  // namespace giftsync::schema::sql_crm
