// schema/crm/external: the lookups of gift records in an external table.
#include "schema/crm/external/gift_records.h"
#include "schema/crm/external/gift_sql.h"
#include "schema/crm/external/person_lookup.h"
#include "schema/crm/sql_common/relink.h"

namespace giftsync::schema::crm::external {
namespace {

/// As missing_rows(), of the tables that have rows.
sql_common::MissingIdsFinder nonempty_missing_ids_finder(soci::session& session, const MappedTables& tables) {
  return [&session, &tables](const sql_common::RowIds& wanted) {
    sql_common::RowIds missing = missing_rows(session, tables, wanted);
    for (auto& [object, ids] : missing)
      if (tables.has(object)) sql_common::clear_if_table_empty(session, tables.rows(object), ids);
    return missing;
  };
}

}  // namespace

sql_common::MissingLookups clear_missing_lookups(soci::session& session, const MappedTables& tables,
                                                 std::vector<GiftUpsert>& rows) {
  const auto is_written = [&](const GiftUpsert& row, GiftField lookup) {
    return !row.exists && !tables.mapping().gift_column(lookup).empty();
  };
  sql_common::MissingLookups cleared_lookups = sql_common::find_missing_lookups(
      rows, is_written,
      [&](const sql_common::RowIds& wanted) { return missing_rows(session, tables, wanted); });
  for (std::size_t i = 0; i < rows.size(); ++i)
    sql_common::clear_lookups_of(rows[i].record, cleared_lookups[i]);
  return cleared_lookups;
}

std::vector<RowResult> ExternalGiftRecords::relink(std::span<const GiftRelink> rows) {
  if (rows.empty()) return {};
  return crm_.write([&](soci::session& session, const MappedTables& tables) {
    sql_common::RelinkTables relinked{
        transaction_table(tables, kGiftObject),
        [&](GiftField field) { return has_field(field) ? quoted_column(tables, field) : std::string(); },
        [&](const std::string& cell) { return cast_cell(tables, cell, GiftField::deal_stage); },
        std::nullopt};
    if (has_tasks_) {
      relinked.tasks = transaction_table(tables, "task");
      relinked.task_contact = sql_common::quoted(tables.mapping().column_name("task", "WhoId"));
    }
    return sql_common::relink(session, tables.dialect(), relinked, rows,
                              nonempty_missing_ids_finder(session, tables));
  });
}

sql_common::MissingLookups ExternalGiftRecords::missing_lookups(std::span<const Associations> links) {
  return crm_.read([&](soci::session& session, const MappedTables& tables) {
    return sql_common::find_missing_lookups(links, nonempty_missing_ids_finder(session, tables));
  });
}

}  // namespace giftsync::schema::crm::external
