// schema/foreign_crm: the lookups of gift records in somebody else's table.
#include <algorithm>

#include "schema/foreign_crm/gift_statements.h"
#include "schema/foreign_crm/people.h"
#include "schema/foreign_crm/records.h"
#include "schema/sql_crm/record_lookups.h"

namespace giftsync::schema::foreign_crm {
namespace {

using sql_crm::LostLookups;
using sql_crm::MissingIds;
using sql_crm::RowIds;
using sql_crm::TextRows;
using sql_crm::TransactionIds;

MissingIds missing_in(soci::session& session, Dialect dialect, const Tables& tables) {
  return [&session, dialect, &tables](const RowIds& wanted) {
    RowIds missing;
    for (const auto& [object, ids] : wanted)
      missing[object] = missing_ids(session, dialect, tables, object, ids);
    return missing;
  };
}

/// As missing_in(), of the tables that have rows.
MissingIds missing_in_filled(soci::session& session, Dialect dialect, const Tables& tables) {
  return [&session, &tables, missing_among = missing_in(session, dialect, tables)](const RowIds& wanted) {
    RowIds missing = missing_among(wanted);
    for (auto& [object, ids] : missing)
      if (tables.has(object)) sql_crm::forget_if_empty(session, tables.table(object), ids);
    return missing;
  };
}

/// "column = cell" for the lookups that matching decides and the CRM has; `first` is the number of the first
/// cell.
template <class Pair>
std::string for_each_column(const Tables& tables, std::size_t first, const std::string& between,
                            Pair&& pair) {
  return sql_crm::for_each_association(first, between, [&](GiftField lookup, const std::string& cell) {
    const bool is_there = !tables.mapping().gift_column(lookup).empty();
    return is_there ? pair(quoted_column(tables, lookup), cell) : std::string();
  });
}

/// Named only where some row has another stage after: most rematches need no right to write it.
std::string stage_assignment(const Tables& tables, std::span<const GiftRelink> rows) {
  constexpr GiftField kStage = GiftField::deal_stage;
  const bool is_moved =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.moves_stage(); });
  if (!is_moved || tables.mapping().gift_column(kStage).empty()) return {};
  const std::string column = quoted_column(tables, kStage);
  const std::string from = "c" + std::to_string(sql_crm::kStageBefore);
  const std::string to = "c" + std::to_string(sql_crm::kStageAfter);
  return ", " + column + " = CASE WHEN " + from + " <> " + to + " AND coalesce(t." + column +
         ", '') = " + cast_cell(tables, sql_crm::kStageBefore, kStage) + " THEN nullif(" +
         cast_cell(tables, sql_crm::kStageAfter, kStage) + ", '') ELSE t." + column + " END";
}

TransactionIds write_links(soci::session& session, Dialect dialect, const Tables& tables,
                           std::span<const GiftRelink> rows) {
  TextRows texts = sql_crm::relink_cells(dialect, rows);
  const auto assigned = [](const std::string& column, const std::string& after) {
    return column + " = nullif(" + after + ", '')";
  };
  const auto still_held = [](const std::string& column, const std::string& before) {
    return "coalesce(t." + column + ", '') = " + before;
  };
  const std::string set = for_each_column(tables, sql_crm::kLinksAfter, ", ", assigned);
  if (set.empty()) return {};  // the CRM has none of them
  return run_returning(session, texts,
                       "UPDATE " + tables.table(kGift) + " AS t SET " + set + stage_assignment(tables, rows) +
                           " FROM " + texts.as_table() + " WHERE " + same_transaction(tables) + " AND " +
                           for_each_column(tables, sql_crm::kLinksBefore, " AND ", still_held) +
                           returning(dialect, tables, "t"));
}

/// A task's Name follows its gift, unless somebody gave it another one.
void move_tasks(soci::session& session, Dialect dialect, const Tables& tables,
                std::span<const GiftRelink> rows, const TransactionIds& updated) {
  TextRows texts = sql_crm::moved_task_cells(dialect, rows, updated);
  if (texts.empty()) return;
  const std::string who = sql_crm::quoted(tables.mapping().column_name("task", "WhoId"));
  run_returning(session, texts,
                "UPDATE " + tables.table("task") + " AS t SET " + who + " = nullif(c2, '') FROM " +
                    texts.as_table() + " WHERE " + tables.column("t", "task", kTransaction) + " = " +
                    tables.cast("c0", "task", kTransaction) + " AND coalesce(t." + who +
                    ", '') = c1 RETURNING " + transaction_of(dialect, tables, "t", "task"));
}

}  // namespace

LostLookups clear_lookups(soci::session& session, Dialect dialect, const Tables& tables,
                          std::vector<GiftUpsert>& rows) {
  const auto is_written = [&](const GiftUpsert& row, GiftField lookup) {
    return !row.exists && !tables.mapping().gift_column(lookup).empty();
  };
  LostLookups cleared = sql_crm::lost_among(rows, is_written, missing_in(session, dialect, tables));
  for (std::size_t i = 0; i < rows.size(); ++i) sql_crm::leave_out(rows[i].record, cleared[i]);
  return cleared;
}

std::vector<RowResult> relink_gifts(sql::Database& database, const Tables& tables, bool with_tasks,
                                    std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  const Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    lock_records(session, dialect);
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const LostLookups cleared = sql_crm::clear_targets(rows, missing_in_filled(session, dialect, tables));
    const TransactionIds updated = write_links(session, dialect, tables, rows);
    if (with_tasks) move_tasks(session, dialect, tables, rows, updated);
    const TransactionIds known = present(session, dialect, tables, kGift, sql_crm::ids_of(rows));
    return sql_crm::relink_results(rows, updated, known, cleared);
  });
}

LostLookups lost_lookups(sql::Database& database, const Tables& tables, std::span<const Associations> links) {
  return database.read([&](soci::session& session) {
    return sql_crm::lost_among(links, missing_in_filled(session, database.dialect(), tables));
  });
}

}  // namespace giftsync::schema::foreign_crm
