// schema/crm/external: the lookups of gift records in an external table.
#include <algorithm>

#include "schema/crm/external/gift_records.h"
#include "schema/crm/external/gift_sql.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/sql_common/reference_checks.h"

namespace giftsync::schema::crm::external {
namespace {

sql_common::MissingIdsFinder missing_ids_finder(soci::session& session, const MappedTables& tables) {
  return [&session, &tables](const sql_common::RowIds& wanted) {
    sql_common::RowIds missing;
    for (const auto& [object, ids] : wanted) missing[object] = missing_ids(session, tables, object, ids);
    return missing;
  };
}

/// As missing_ids_finder(), of the tables that have rows.
sql_common::MissingIdsFinder nonempty_missing_ids_finder(soci::session& session, const MappedTables& tables) {
  return [&session, &tables,
          find_missing = missing_ids_finder(session, tables)](const sql_common::RowIds& wanted) {
    sql_common::RowIds missing = find_missing(wanted);
    for (auto& [object, ids] : missing)
      if (tables.has(object)) sql_common::clear_if_table_empty(session, tables.table(object), ids);
    return missing;
  };
}

/// "column = cell" for the lookups that matching decides and the CRM has; `first` is the number of the first
/// cell.
template <class Pair>
std::string for_each_column(const MappedTables& tables, std::size_t first, const std::string& between,
                            Pair&& pair) {
  return sql_common::join_associations(first, between, [&](GiftField lookup, const std::string& cell) {
    const bool is_there = !tables.mapping().gift_column(lookup).empty();
    return is_there ? pair(quoted_column(tables, lookup), cell) : std::string();
  });
}

/// Named only where some row has another stage after: most rematches need no right to write it.
std::string stage_assignment(const MappedTables& tables, std::span<const GiftRelink> rows) {
  constexpr GiftField kStage = GiftField::deal_stage;
  const bool is_moved =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.changes_stage(); });
  if (!is_moved || tables.mapping().gift_column(kStage).empty()) return {};
  const std::string column = quoted_column(tables, kStage);
  const std::string from = "c" + std::to_string(sql_common::kStageBefore);
  const std::string to = "c" + std::to_string(sql_common::kStageAfter);
  return ", " + column + " = CASE WHEN " + from + " <> " + to + " AND coalesce(t." + column +
         ", '') = " + cast_cell(tables, sql_common::kStageBefore, kStage) + " THEN nullif(" +
         cast_cell(tables, sql_common::kStageAfter, kStage) + ", '') ELSE t." + column + " END";
}

sql_common::TransactionIds write_links(soci::session& session, const MappedTables& tables,
                                       std::span<const GiftRelink> rows) {
  sql_common::TextRows texts = sql_common::relink_cells(tables.dialect(), rows);
  const auto assigned = [](const std::string& column, const std::string& after) {
    return column + " = nullif(" + after + ", '')";
  };
  const auto is_unchanged_condition = [](const std::string& column, const std::string& before) {
    return "coalesce(t." + column + ", '') = " + before;
  };
  const std::string set = for_each_column(tables, sql_common::kLinksAfter, ", ", assigned);
  if (set.empty()) return {};  // the CRM has none of them
  return sql_common::run_returning(
      session, texts,
      "UPDATE " + tables.table(kGiftObject) + " AS t SET " + set + stage_assignment(tables, rows) + " FROM " +
          texts.as_table() + " WHERE " + same_transaction_condition(tables) + " AND " +
          for_each_column(tables, sql_common::kLinksBefore, " AND ", is_unchanged_condition) +
          returning_clause(tables, "t"));
}

/// A task's Name follows its gift, unless a user changed it.
void update_task_contacts(soci::session& session, const MappedTables& tables,
                          std::span<const GiftRelink> rows, const sql_common::TransactionIds& updated) {
  sql_common::TextRows texts = sql_common::task_contact_cells(tables.dialect(), rows, updated);
  if (texts.empty()) return;
  const std::string who = sql_common::quoted(tables.mapping().column_name("task", "WhoId"));
  sql_common::run_returning(session, texts,
                            "UPDATE " + tables.table("task") + " AS t SET " + who +
                                " = nullif(c2, '') FROM " + texts.as_table() + " WHERE " +
                                tables.column("t", "task", kTransaction) + " = " +
                                tables.cast("c0", "task", kTransaction) + " AND coalesce(t." + who +
                                ", '') = c1 RETURNING " + transaction_of(tables, "t", "task"));
}

}  // namespace

sql_common::MissingLookups clear_missing_lookups(soci::session& session, const MappedTables& tables,
                                                 std::vector<GiftUpsert>& rows) {
  const auto is_written = [&](const GiftUpsert& row, GiftField lookup) {
    return !row.exists && !tables.mapping().gift_column(lookup).empty();
  };
  sql_common::MissingLookups cleared_lookups =
      sql_common::find_missing_lookups(rows, is_written, missing_ids_finder(session, tables));
  for (std::size_t i = 0; i < rows.size(); ++i)
    sql_common::clear_lookups_of(rows[i].record, cleared_lookups[i]);
  return cleared_lookups;
}

std::vector<RowResult> ExternalGiftRecords::relink(std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  return crm_.write([&](soci::session& session, const MappedTables& tables) {
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const sql_common::MissingLookups cleared_lookups =
        sql_common::clear_missing_targets(rows, nonempty_missing_ids_finder(session, tables));
    const sql_common::TransactionIds updated = write_links(session, tables, rows);
    if (has_tasks_) update_task_contacts(session, tables, rows, updated);
    const sql_common::TransactionIds known =
        existing_transactions(session, tables, kGiftObject, sql_common::transaction_ids_of(rows));
    return sql_common::relink_results(rows, updated, known, cleared_lookups);
  });
}

sql_common::MissingLookups ExternalGiftRecords::missing_lookups(std::span<const Associations> links) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    return sql_common::find_missing_lookups(links, nonempty_missing_ids_finder(session, tables));
  });
}

}  // namespace giftsync::schema::crm::external
