#include "schema/sql_crm/gift_rows.h"

#include <algorithm>
#include <set>
#include <utility>

#include "schema/sql/bulk_rows.h"
#include "schema/sql_crm/gift_lookups.h"
#include "schema/sql_crm/gift_table.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::sql_crm {
namespace {

using Kind = RowResult::Kind;
using Rows = std::vector<const GiftUpsert*>;

/// A column of the statement: where its cell comes from and who writes it after the record exists.
struct Written {
  std::string column;
  std::string type;
  bool on_update;
  bool keeps_value = false;  ///< an absent cell leaves what an existing record has
};

/// Id, version, then the written fields in the order of kGiftFields. The CRM's own fields are left to it,
/// except for who changed the record last, which nothing else in this CRM knows.
bool is_written(const RecordField& field) {
  return field.owner != FieldOwner::crm || &field == &field_of(GiftField::last_modified_by);
}

std::vector<Written> written_columns(Dialect dialect) {
  std::vector<Written> columns{{"id", "TEXT", false}, {"record_version", "BIGINT", true}};
  for (const RecordField& field : kGiftFields) {
    if (!is_written(field)) continue;
    columns.push_back({std::string(field.column), std::string(sql_type(field.type, dialect)),
                       field.owner == FieldOwner::giftsync, field.type == FieldType::currency});
  }
  return columns;
}

TextRows::Row cells_of(const GiftRecord& record) {
  TextRows::Row cells{gift_record_id(record.transaction()), std::to_string(record.version)};
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    if (!is_written(kGiftFields[i])) continue;
    const auto field = static_cast<GiftField>(i);
    const bool unknown_modifier =
        field == GiftField::last_modified_by &&
        std::holds_alternative<std::monostate>(record.get(GiftField::last_modified_by));
    cells.push_back(text_of(record.get(unknown_modifier ? GiftField::created_by : field)));
  }
  return cells;
}

std::string cast_cell(std::size_t index, const std::string& type) {
  return "cast(c" + std::to_string(index) + " as " + type + ")";
}

/// "column = value, ..." over the columns that giftsync owns.
template <class ValueOf>
std::string assignments(Dialect dialect, const std::vector<Written>& columns, ValueOf&& value_of_column) {
  std::string text = "lastmodifieddate = " + now_text(dialect);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].on_update) text += ", " + columns[i].column + " = " + value_of_column(i);
  }
  return text;
}

constexpr const char* kReturning = " RETURNING recipienttransactionid";

std::string insert_statement(Dialect dialect, const std::vector<Written>& columns, const std::string& table) {
  std::string names;
  std::string values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    names += comma + columns[i].column;
    values += comma + cast_cell(i, columns[i].type);
  }
  // WHERE true: without it SQLite takes ON for a join's.
  return "INSERT INTO crm_gift_record (" + names + ") SELECT " + values + " FROM " + table +
         " WHERE true ON CONFLICT (recipienttransactionid) DO UPDATE SET " +
         assignments(dialect, columns, [&](std::size_t i) { return "excluded." + columns[i].column; }) +
         " WHERE crm_gift_record.record_version < excluded.record_version" + kReturning;
}

/// Only what giftsync owns is named, so only that travels.
std::vector<sql::BulkRows::Column> update_columns(const std::vector<Written>& columns) {
  std::vector<sql::BulkRows::Column> given{{"recipienttransactionid", sql::BulkRows::Type::integer}};
  for (const Written& column : columns) {
    if (column.on_update) given.push_back({column.column, sql::BulkRows::Type::text});
  }
  return given;
}

std::string update_statement(Dialect dialect, const std::vector<Written>& columns, const std::string& given,
                             const std::string& from) {
  const auto cell = [&](const Written& column) {
    return "cast(" + given + column.column + " as " + column.type + ")";
  };
  const auto version = std::find_if(columns.begin(), columns.end(),
                                    [](const Written& c) { return c.column == "record_version"; });
  return "UPDATE crm_gift_record SET " +
         assignments(dialect, columns,
                     [&](std::size_t i) {
                       const Written& column = columns[i];
                       if (!column.keeps_value) return cell(column);
                       return "coalesce(" + cell(column) + ", crm_gift_record." + column.column + ")";
                     }) +
         from + " WHERE crm_gift_record.recipienttransactionid = " + given +
         "recipienttransactionid AND crm_gift_record.record_version < " + cell(*version);
}

TransactionIds present(soci::session& session, Dialect dialect, const Rows& rows) {
  std::vector<std::int64_t> wanted;
  for (const GiftUpsert* row : rows) wanted.push_back(row->record.transaction().value);
  return present_in(session, dialect, "crm_gift_record", wanted);
}

TextRows text_rows(Dialect dialect, const Rows& rows, std::size_t columns) {
  TextRows texts(dialect, columns);
  for (const GiftUpsert* row : rows) texts.add(cells_of(row->record));
  return texts;
}

struct Outcome {
  TransactionIds created;
  TransactionIds updated;
  TransactionIds known;  ///< there, whether written or not
};

void insert_rows(soci::session& session, Dialect dialect, const Rows& rows, Outcome& outcome) {
  if (rows.empty()) return;
  const TransactionIds before = present(session, dialect, rows);
  const std::vector<Written> columns = written_columns(dialect);
  TextRows texts = text_rows(dialect, rows, columns.size());
  for (const std::int64_t id :
       run_returning(session, texts, insert_statement(dialect, columns, texts.as_table()))) {
    (before.contains(id) ? outcome.updated : outcome.created).insert(id);
  }
  for (const GiftUpsert* row : rows) outcome.known.insert(row->record.transaction().value);
}

void update_rows(soci::session& session, Dialect dialect, const Rows& rows, Outcome& outcome) {
  if (rows.empty()) return;
  const std::vector<Written> columns = written_columns(dialect);
  sql::BulkRows given(dialect, update_columns(columns));
  for (const GiftUpsert* row : rows) {
    const TextRows::Row cells = cells_of(row->record);
    std::vector<sql::Cell> owned{row->record.transaction().value};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].on_update)
        owned.push_back(cells[i] ? sql::Cell(std::string_view(*cells[i])) : sql::Cell());
    }
    given.add(owned);
  }
  const std::string from = " FROM " + given.as_table();
  const std::vector<std::int64_t> updated =
      given.run_touching(session, update_statement(dialect, columns, ":", ""),
                         update_statement(dialect, columns, "row_given.", from) +
                             " RETURNING crm_gift_record.recipienttransactionid");
  outcome.updated.insert(updated.begin(), updated.end());
  outcome.known.insert(updated.begin(), updated.end());
  if (updated.size() < rows.size()) outcome.known.merge(present(session, dialect, rows));
}

/// In the order of their transactions, so that two processes lock rows in the same order.
Rows sorted(std::span<const GiftUpsert> rows, bool exists) {
  Rows chosen;
  for (const GiftUpsert& row : rows) {
    if (row.exists == exists) chosen.push_back(&row);
  }
  std::sort(chosen.begin(), chosen.end(), [](const GiftUpsert* a, const GiftUpsert* b) {
    return a->record.transaction() < b->record.transaction();
  });
  return chosen;
}

RowResult result_of(const GiftUpsert& row, const Outcome& outcome, std::vector<GiftField> cleared) {
  const std::int64_t id = row.record.transaction().value;
  if (outcome.created.contains(id)) return {Kind::created, {}, std::move(cleared)};
  if (outcome.updated.contains(id)) return {Kind::updated, {}, std::move(cleared)};
  if (outcome.known.contains(id)) return {Kind::unchanged, {}, std::move(cleared)};
  return {Kind::gone, "the gift record was deleted in the CRM"};
}

std::vector<RowResult> write_rows(soci::session& session, Dialect dialect,
                                  std::span<const GiftUpsert> given) {
  CheckedUpserts checked = check_lookups(session, dialect, given);
  Outcome outcome;
  insert_rows(session, dialect, sorted(checked.rows, false), outcome);
  update_rows(session, dialect, sorted(checked.rows, true), outcome);
  std::vector<RowResult> results;
  results.reserve(given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    results.push_back(result_of(given[i], outcome, std::move(checked.cleared[i])));
  return results;
}

std::string refusal(const GiftRecord& record, const std::string& name_space, const std::string& fault) {
  const auto is_set = [&](GiftField field) {
    return !std::holds_alternative<std::monostate>(record.get(field));
  };
  if (!is_set(GiftField::recipient_contact) || !is_set(GiftField::recipient_lead)) return fault;
  return api_name(field_of(GiftField::recipient_contact), name_space) + " and " +
         api_name(field_of(GiftField::recipient_lead), name_space) +
         " are both set; a gift record is linked to a contact or a lead, never both";
}

RowResult write_alone(sql::Database& database, const GiftUpsert& row, const std::string& name_space) {
  try {
    return database
        .write([&](soci::session& session) {
          return write_rows(session, database.dialect(), {&row, 1});
        })
        .front();
  } catch (const sql::ConstraintBroken& error) {
    return {Kind::rejected, refusal(row.record, name_space, error.what())};
  }
}

bool has_equal_transactions(std::span<const GiftUpsert> rows) {
  TransactionIds seen;
  return std::any_of(rows.begin(), rows.end(), [&](const GiftUpsert& row) {
    return !seen.insert(row.record.transaction().value).second;
  });
}

}  // namespace

std::vector<RowResult> upsert_gift_rows(sql::Database& database, std::span<const GiftUpsert> rows,
                                        const std::string& name_space) {
  if (rows.empty()) return {};
  // One statement may not touch a record twice: equal transactions go one after the other.
  if (!has_equal_transactions(rows)) {
    try {
      return database.write(
          [&](soci::session& session) { return write_rows(session, database.dialect(), rows); });
    } catch (const sql::ConstraintBroken&) {
    }
  }
  std::vector<RowResult> results;
  results.reserve(rows.size());
  for (const GiftUpsert& row : rows) results.push_back(write_alone(database, row, name_space));
  return results;
}

}  // namespace giftsync::schema::sql_crm
