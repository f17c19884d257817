#include <algorithm>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "crm/sql/gift_values.h"
#include "crm/sql/managed/gift_records.h"
#include "crm/sql/managed/gift_table.h"
#include "crm/sql/reference_checks.h"
#include "crm/sql/rows_by_key.h"
#include "crm/sql/transaction_rows.h"
#include "schema/sql/bulk_rows.h"

namespace giftsync::crm::managed {
namespace {

using Kind = RowResult::Kind;
using Rows = std::vector<const GiftUpsert*>;

/// Created By is the only lookup that is written to an existing record: as Last Modified By.
bool writes_lookup(const GiftUpsert& row, GiftField lookup) {
  return !row.exists || lookup == GiftField::created_by;
}

crm::sql_crm::MissingIdsFinder missing_ids_finder(soci::session& session) {
  return
      [&session](const crm::sql_crm::RowIds& wanted) { return crm::sql_crm::missing_rows(session, wanted); };
}

/// As missing_ids_finder(), of the tables that have rows.
crm::sql_crm::MissingIdsFinder nonempty_missing_ids_finder(soci::session& session) {
  return [&session](const crm::sql_crm::RowIds& wanted) {
    crm::sql_crm::RowIds missing = crm::sql_crm::missing_rows(session, wanted);
    for (auto& [object, ids] : missing)
      crm::sql_crm::clear_if_table_empty(session, crm::sql_crm::table_of(object), ids);
    return missing;
  };
}

/// Upserts without the lookups whose targets do not exist.
struct CheckedUpserts {
  std::vector<const GiftUpsert*> rows;  ///< the input rows, or their copies in `corrected`
  std::deque<GiftUpsert> corrected;
  crm::sql_crm::MissingLookups cleared_lookups;  ///< of each row; reported only for new records
};

CheckedUpserts check_lookups(soci::session& session, std::span<const GiftUpsert> rows) {
  CheckedUpserts checked;
  checked.cleared_lookups =
      crm::sql_crm::find_missing_lookups(rows, writes_lookup, missing_ids_finder(session));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (checked.cleared_lookups[i].empty()) {
      checked.rows.push_back(&rows[i]);
      continue;
    }
    GiftUpsert& corrected = checked.corrected.emplace_back(rows[i]);
    checked.rows.push_back(&corrected);
    crm::sql_crm::clear_lookups_of(corrected.record, checked.cleared_lookups[i]);
    // The record's own lookups stay unchanged.
    if (corrected.exists) checked.cleared_lookups[i].clear();
  }
  return checked;
}

/// A column of the statement: where its cell comes from and who writes it after the record exists.
struct WrittenColumn {
  std::string column;
  std::string type;
  bool on_update;
  std::string (*computed_text)(const GiftRecord&) = nullptr;  ///< of the columns that are no fields
  GiftField field = {};
  bool keep_when_absent = false;  ///< an absent cell leaves what an existing record has
};

/// CRM-owned fields are not written, except Last Modified By, which only giftsync can set in this CRM.
bool is_written(const FieldDescriptor& field) {
  return field.owner != FieldOwner::crm || &field == &descriptor_of(GiftField::last_modified_by);
}

/// Id, version, then the written fields in the order of kGiftFields.
std::vector<WrittenColumn> written_columns(sql::Dialect dialect) {
  std::vector<WrittenColumn> columns{
      {"id", "TEXT", false, [](const GiftRecord& record) { return gift_record_id(record.transaction()); }},
      {"record_version", "BIGINT", true,
       [](const GiftRecord& record) { return std::to_string(record.version); }}};
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    const FieldDescriptor& field = kGiftFields[i];
    if (!is_written(field)) continue;
    columns.push_back({std::string(field.column), std::string(sql_type(field.type, dialect)),
                       field.owner == FieldOwner::giftsync, nullptr, static_cast<GiftField>(i),
                       is_preserved_when_absent(static_cast<GiftField>(i))});
  }
  return columns;
}

std::optional<std::string> text_for(const WrittenColumn& column, const GiftRecord& record) {
  if (column.computed_text) return column.computed_text(record);
  const bool unknown_modifier =
      column.field == GiftField::last_modified_by &&
      std::holds_alternative<std::monostate>(record.get(GiftField::last_modified_by));
  return crm::sql_crm::text_of(record.get(unknown_modifier ? GiftField::created_by : column.field));
}

/// "column = value, ..." over the columns that giftsync owns.
template <class ValueOf>
std::string assignments(sql::Dialect dialect, const std::vector<WrittenColumn>& columns,
                        ValueOf&& value_of_column) {
  std::string text = "lastmodifieddate = " + crm::sql_crm::now_expression(dialect);
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
std::vector<sql::BulkRows::Column> given_columns(const std::vector<WrittenColumn>& columns,
                                                 IsWanted&& is_wanted) {
  std::vector<sql::BulkRows::Column> given{{kKey, sql::BulkRows::Type::integer}};
  for (const WrittenColumn& column : columns) {
    if (column.column != kKey && is_wanted(column))
      given.push_back({column.column, sql::BulkRows::Type::text});
  }
  return given;
}

template <class IsWanted>
sql::BulkRows given_rows(sql::Dialect dialect, const std::vector<WrittenColumn>& columns, const Rows& rows,
                         IsWanted&& is_wanted) {
  sql::BulkRows given(dialect, given_columns(columns, is_wanted));
  for (const GiftUpsert* row : rows) {
    const bool has_key = !std::holds_alternative<std::monostate>(row->record.get(GiftField::transaction_id));
    std::vector<sql::Cell> cells{has_key ? sql::Cell(row->record.transaction().value) : sql::Cell()};
    std::deque<std::string> texts;  // where the cells' texts lie
    for (const WrittenColumn& column : columns) {
      if (column.column == kKey || !is_wanted(column)) continue;
      std::optional<std::string> text = text_for(column, row->record);
      cells.push_back(text ? sql::Cell(texts.emplace_back(std::move(*text))) : sql::Cell());
    }
    given.add(cells);
  }
  return given;
}

/// The column's cell among the input, cast to the column's type. On SQLite the column's affinity is enough.
std::string cell_of(const WrittenColumn& column, const std::string& given) {
  return given == kParameter || column.column == kKey
             ? given + column.column
             : "cast(" + given + column.column + " as " + column.type + ")";
}

std::string insert_statement(sql::Dialect dialect, const std::vector<WrittenColumn>& columns,
                             const std::string& given, const std::string& from) {
  std::string names;
  std::string values;
  for (const WrittenColumn& column : columns) {
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
                       return columns[i].keep_when_absent
                                  ? "coalesce(" + excluded + ", crm_gift_record." + columns[i].column + ")"
                                  : excluded;
                     }) +
         " WHERE crm_gift_record.record_version < excluded.record_version";
}

std::string update_statement(sql::Dialect dialect, const std::vector<WrittenColumn>& columns,
                             const std::string& given, const std::string& from) {
  const auto version = std::find_if(columns.begin(), columns.end(),
                                    [](const WrittenColumn& c) { return c.column == "record_version"; });
  return "UPDATE crm_gift_record SET " +
         assignments(dialect, columns,
                     [&](std::size_t i) {
                       const WrittenColumn& column = columns[i];
                       if (!column.keep_when_absent) return cell_of(column, given);
                       return "coalesce(" + cell_of(column, given) + ", crm_gift_record." + column.column +
                              ")";
                     }) +
         from + " WHERE crm_gift_record.recipienttransactionid = " + given +
         "recipienttransactionid AND crm_gift_record.record_version < " + cell_of(*version, given);
}

crm::sql_crm::TransactionIds existing_among(soci::session& session, const Rows& rows) {
  std::vector<std::int64_t> wanted;
  for (const GiftUpsert* row : rows) wanted.push_back(row->record.transaction().value);
  return crm::sql_crm::existing_transactions(session, "crm_gift_record", wanted);
}

struct Outcome {
  crm::sql_crm::TransactionIds created;
  crm::sql_crm::TransactionIds updated;
  crm::sql_crm::TransactionIds existing;      ///< there, whether written or not
  crm::sql_crm::TransactionIds id_conflicts;  ///< exists, neither written by giftsync nor to be adopted
};

/// Removes from `rows` those whose Transaction Id belongs to an unknown record: giftsync's own records have a
/// version.
crm::sql_crm::TransactionIds remove_id_conflicts(soci::session& session, Rows& rows) {
  std::vector<std::int64_t> ours;
  for (const GiftUpsert* row : rows) {
    if (!row->may_adopt) ours.push_back(row->record.transaction().value);
  }
  if (ours.empty()) return {};
  crm::sql_crm::TransactionIds id_conflicts =
      crm::sql_crm::existing_transactions(session, "crm_gift_record", ours, "record_version = 0");
  std::erase_if(rows, [&](const GiftUpsert* row) {
    return !row->may_adopt && id_conflicts.contains(row->record.transaction().value);
  });
  return id_conflicts;
}

void insert_rows(soci::session& session, Rows rows, Outcome& outcome) {
  outcome.id_conflicts = remove_id_conflicts(session, rows);
  if (rows.empty()) return;
  const crm::sql_crm::TransactionIds before = existing_among(session, rows);
  const std::vector<WrittenColumn> columns = written_columns(session);
  sql::BulkRows given = given_rows(session, columns, rows, [](const WrittenColumn&) { return true; });
  const std::string from = " FROM " + given.as_table();
  for (const std::int64_t id :
       given.run_returning_keys(session, insert_statement(session, columns, ":", ""),
                                insert_statement(session, columns, "input_row.", from) + kReturning)) {
    (before.contains(id) ? outcome.updated : outcome.created).insert(id);
  }
  for (const GiftUpsert* row : rows) outcome.existing.insert(row->record.transaction().value);
}

void update_rows(soci::session& session, const Rows& rows, Outcome& outcome) {
  if (rows.empty()) return;
  const std::vector<WrittenColumn> columns = written_columns(session);
  // Only what giftsync owns is named, so only that travels.
  sql::BulkRows given =
      given_rows(session, columns, rows, [](const WrittenColumn& column) { return column.on_update; });
  const std::string from = " FROM " + given.as_table();
  const std::vector<std::int64_t> updated =
      given.run_returning_keys(session, update_statement(session, columns, ":", ""),
                               update_statement(session, columns, "input_row.", from) + kReturning);
  outcome.updated.insert(updated.begin(), updated.end());
  outcome.existing.insert(updated.begin(), updated.end());
  if (updated.size() < rows.size()) outcome.existing.merge(existing_among(session, rows));
}

/// In the order of their transactions, so that two processes lock rows in the same order.
Rows sorted_by_transaction(const Rows& rows, bool exists) {
  Rows chosen;
  for (const GiftUpsert* row : rows) {
    if (row->exists == exists) chosen.push_back(row);
  }
  std::sort(chosen.begin(), chosen.end(), [](const GiftUpsert* a, const GiftUpsert* b) {
    return a->record.transaction() < b->record.transaction();
  });
  return chosen;
}

RowResult result_of(const GiftUpsert& row, const Outcome& outcome, std::vector<GiftField> cleared_lookups) {
  const std::int64_t id = row.record.transaction().value;
  if (outcome.id_conflicts.contains(id)) return id_conflict_result({id});
  if (outcome.created.contains(id)) return {Kind::created, {}, std::move(cleared_lookups)};
  if (outcome.updated.contains(id)) return {Kind::updated, {}, std::move(cleared_lookups)};
  if (outcome.existing.contains(id)) return {Kind::unchanged, {}, std::move(cleared_lookups)};
  return {Kind::not_found, "the gift record was deleted in the CRM"};
}

std::vector<RowResult> write_rows(soci::session& session, std::span<const GiftUpsert> given) {
  CheckedUpserts checked = check_lookups(session, given);
  Outcome outcome;
  insert_rows(session, sorted_by_transaction(checked.rows, false), outcome);
  update_rows(session, sorted_by_transaction(checked.rows, true), outcome);
  std::vector<RowResult> results;
  results.reserve(given.size());
  for (std::size_t i = 0; i < given.size(); ++i)
    results.push_back(result_of(given[i], outcome, std::move(checked.cleared_lookups[i])));
  return results;
}

std::string rejection_reason(const GiftRecord& record, const std::string& name_space,
                             const std::string& fault) {
  const auto is_set = [&](GiftField field) {
    return !std::holds_alternative<std::monostate>(record.get(field));
  };
  if (!is_set(GiftField::recipient_contact) || !is_set(GiftField::recipient_lead)) return fault;
  return api_name(descriptor_of(GiftField::recipient_contact), name_space) + " and " +
         api_name(descriptor_of(GiftField::recipient_lead), name_space) +
         " are both set; a gift record is linked to a contact or a lead, never both";
}

}  // namespace

std::vector<RowResult> ManagedGiftRecords::upsert(std::span<const GiftUpsert> rows) {
  const auto write = [&](std::span<const GiftUpsert> some) {
    crm::sql_crm::reject_duplicate_transactions(some);
    return database_.write([&](soci::session& session) { return write_rows(session, some); });
  };
  return crm::sql_crm::bisect_upsert(rows, write, [&](const GiftUpsert& row, const std::string& fault) {
    return rejection_reason(row.record, name_space_, fault);
  });
}

std::vector<std::vector<GiftField>> ManagedGiftRecords::missing_lookups(std::span<const Associations> links) {
  return database_.read([&](soci::session& session) {
    return crm::sql_crm::find_missing_lookups(links, nonempty_missing_ids_finder(session));
  });
}

std::vector<RowResult> ManagedGiftRecords::relink(std::span<const GiftRelink> rows) {
  if (rows.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  const crm::sql_crm::RelinkTables tables{
      transaction_table(dialect, "crm_gift_record"),
      [](GiftField field) { return std::string(descriptor_of(field).column); },
      [](const std::string& cell) { return cell; }, transaction_table(dialect, "crm_task"), "whoid"};
  return database_.write([&](soci::session& session) {
    return crm::sql_crm::relink(session, tables, rows, nonempty_missing_ids_finder(session));
  });
}

}  // namespace giftsync::crm::managed
