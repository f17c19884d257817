#include "schema/sql_crm/gift_rows.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "schema/sql/bulk_rows.h"
#include "schema/sql/written_apart.h"
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
  std::string (*own_text)(const GiftRecord&) = nullptr;  ///< of the columns that are no fields
  GiftField field = {};
  bool keeps_value = false;  ///< an absent cell leaves what an existing record has
};

/// The CRM's own fields are left to it, except for who changed the record last, which nothing else in this
/// CRM knows.
bool is_written(const RecordField& field) {
  return field.owner != FieldOwner::crm || &field == &field_of(GiftField::last_modified_by);
}

/// Id, version, then the written fields in the order of kGiftFields.
std::vector<Written> written_columns(Dialect dialect) {
  std::vector<Written> columns{
      {"id", "TEXT", false, [](const GiftRecord& record) { return gift_record_id(record.transaction()); }},
      {"record_version", "BIGINT", true,
       [](const GiftRecord& record) { return std::to_string(record.version); }}};
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const RecordField& field = kGiftFields[i];
    if (!is_written(field)) continue;
    columns.push_back({std::string(field.column), std::string(sql_type(field.type, dialect)),
                       field.owner == FieldOwner::giftsync, nullptr, static_cast<GiftField>(i),
                       is_left_when_absent(static_cast<GiftField>(i))});
  }
  return columns;
}

std::optional<std::string> text_for(const Written& column, const GiftRecord& record) {
  if (column.own_text) return column.own_text(record);
  const bool unknown_modifier =
      column.field == GiftField::last_modified_by &&
      std::holds_alternative<std::monostate>(record.get(GiftField::last_modified_by));
  return text_of(record.get(unknown_modifier ? GiftField::created_by : column.field));
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

constexpr std::string_view kKey = "recipienttransactionid";
constexpr std::string_view kParameter = ":";  ///< before a column's name, on SQLite
constexpr const char* kReturning = " RETURNING crm_gift_record.recipienttransactionid";

/// What travels: the key first, then the columns that are wanted, all of them as texts.
template <class IsWanted>
std::vector<sql::BulkRows::Column> given_columns(const std::vector<Written>& columns, IsWanted&& is_wanted) {
  std::vector<sql::BulkRows::Column> given{{kKey, sql::BulkRows::Type::integer}};
  for (const Written& column : columns) {
    if (column.column != kKey && is_wanted(column))
      given.push_back({column.column, sql::BulkRows::Type::text});
  }
  return given;
}

template <class IsWanted>
sql::BulkRows given_rows(Dialect dialect, const std::vector<Written>& columns, const Rows& rows,
                         IsWanted&& is_wanted) {
  sql::BulkRows given(dialect, given_columns(columns, is_wanted));
  for (const GiftUpsert* row : rows) {
    const bool has_key = !std::holds_alternative<std::monostate>(row->record.get(GiftField::transaction_id));
    std::vector<sql::Cell> cells{has_key ? sql::Cell(row->record.transaction().value) : sql::Cell()};
    std::deque<std::string> texts;  // where the cells' texts lie
    for (const Written& column : columns) {
      if (column.column == kKey || !is_wanted(column)) continue;
      std::optional<std::string> text = text_for(column, row->record);
      cells.push_back(text ? sql::Cell(texts.emplace_back(std::move(*text))) : sql::Cell());
    }
    given.add(cells);
  }
  return given;
}

/// The column's cell among what is given, in the column's type. To SQLite the column's own affinity is
/// enough.
std::string cell_of(const Written& column, const std::string& given) {
  return given == kParameter || column.column == kKey
             ? given + column.column
             : "cast(" + given + column.column + " as " + column.type + ")";
}

std::string insert_statement(Dialect dialect, const std::vector<Written>& columns, const std::string& given,
                             const std::string& from) {
  std::string names;
  std::string values;
  for (const Written& column : columns) {
    const std::string comma = names.empty() ? "" : ", ";
    names += comma + column.column;
    values += comma + cell_of(column, given);
  }
  return "INSERT INTO crm_gift_record (" + names + ") " +
         (from.empty() ? "VALUES (" + values + ")" : "SELECT " + values + from) +
         " ON CONFLICT (recipienttransactionid) DO UPDATE SET " +
         assignments(dialect, columns,
                     [&](std::size_t i) {
                       const std::string excluded = "excluded." + columns[i].column;
                       return columns[i].keeps_value
                                  ? "coalesce(" + excluded + ", crm_gift_record." + columns[i].column + ")"
                                  : excluded;
                     }) +
         " WHERE crm_gift_record.record_version < excluded.record_version";
}

std::string update_statement(Dialect dialect, const std::vector<Written>& columns, const std::string& given,
                             const std::string& from) {
  const auto version = std::find_if(columns.begin(), columns.end(),
                                    [](const Written& c) { return c.column == "record_version"; });
  return "UPDATE crm_gift_record SET " +
         assignments(dialect, columns,
                     [&](std::size_t i) {
                       const Written& column = columns[i];
                       if (!column.keeps_value) return cell_of(column, given);
                       return "coalesce(" + cell_of(column, given) + ", crm_gift_record." + column.column +
                              ")";
                     }) +
         from + " WHERE crm_gift_record.recipienttransactionid = " + given +
         "recipienttransactionid AND crm_gift_record.record_version < " + cell_of(*version, given);
}

TransactionIds present(soci::session& session, Dialect dialect, const Rows& rows) {
  std::vector<std::int64_t> wanted;
  for (const GiftUpsert* row : rows) wanted.push_back(row->record.transaction().value);
  return present_in(session, dialect, "crm_gift_record", wanted);
}

struct Outcome {
  TransactionIds created;
  TransactionIds updated;
  TransactionIds known;      ///< there, whether written or not
  TransactionIds strangers;  ///< there, and neither written by giftsync nor to be taken over
};

/// Takes the rows that meet a stranger's record out of `rows`: giftsync's own have a version.
TransactionIds take_out_strangers(soci::session& session, Dialect dialect, Rows& rows) {
  std::vector<std::int64_t> ours;
  for (const GiftUpsert* row : rows) {
    if (!row->may_take_over) ours.push_back(row->record.transaction().value);
  }
  if (ours.empty()) return {};
  const TransactionIds strangers =
      present_in(session, dialect, "crm_gift_record", ours, "record_version = 0");
  std::erase_if(rows, [&](const GiftUpsert* row) {
    return !row->may_take_over && strangers.contains(row->record.transaction().value);
  });
  return strangers;
}

void insert_rows(soci::session& session, Dialect dialect, Rows rows, Outcome& outcome) {
  outcome.strangers = take_out_strangers(session, dialect, rows);
  if (rows.empty()) return;
  const TransactionIds before = present(session, dialect, rows);
  const std::vector<Written> columns = written_columns(dialect);
  sql::BulkRows given = given_rows(dialect, columns, rows, [](const Written&) { return true; });
  const std::string from = " FROM " + given.as_table();
  for (const std::int64_t id :
       given.run_touching(session, insert_statement(dialect, columns, ":", ""),
                          insert_statement(dialect, columns, "row_given.", from) + kReturning)) {
    (before.contains(id) ? outcome.updated : outcome.created).insert(id);
  }
  for (const GiftUpsert* row : rows) outcome.known.insert(row->record.transaction().value);
}

void update_rows(soci::session& session, Dialect dialect, const Rows& rows, Outcome& outcome) {
  if (rows.empty()) return;
  const std::vector<Written> columns = written_columns(dialect);
  // Only what giftsync owns is named, so only that travels.
  sql::BulkRows given =
      given_rows(dialect, columns, rows, [](const Written& column) { return column.on_update; });
  const std::string from = " FROM " + given.as_table();
  const std::vector<std::int64_t> updated =
      given.run_touching(session, update_statement(dialect, columns, ":", ""),
                         update_statement(dialect, columns, "row_given.", from) + kReturning);
  outcome.updated.insert(updated.begin(), updated.end());
  outcome.known.insert(updated.begin(), updated.end());
  if (updated.size() < rows.size()) outcome.known.merge(present(session, dialect, rows));
}

/// In the order of their transactions, so that two processes lock rows in the same order.
Rows sorted(const Rows& rows, bool exists) {
  Rows chosen;
  for (const GiftUpsert* row : rows) {
    if (row->exists == exists) chosen.push_back(row);
  }
  std::sort(chosen.begin(), chosen.end(), [](const GiftUpsert* a, const GiftUpsert* b) {
    return a->record.transaction() < b->record.transaction();
  });
  return chosen;
}

RowResult result_of(const GiftUpsert& row, const Outcome& outcome, std::vector<GiftField> cleared) {
  const std::int64_t id = row.record.transaction().value;
  if (outcome.strangers.contains(id)) return refused_for_strangers_record({id});
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

}  // namespace

std::vector<RowResult> upsert_gift_rows(sql::Database& database, std::span<const GiftUpsert> rows,
                                        const std::string& name_space) {
  const auto write = [&](std::span<const GiftUpsert> some) {
    refuse_equal_transactions(some);
    return database.write(
        [&](soci::session& session) { return write_rows(session, database.dialect(), some); });
  };
  return sql::written_apart(rows, write, [&](const GiftUpsert& row, const std::string& fault) {
    return refusal(row.record, name_space, fault);
  });
}

}  // namespace giftsync::schema::sql_crm
