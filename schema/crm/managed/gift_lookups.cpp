#include "schema/crm/managed/gift_lookups.h"

#include "schema/crm/managed/gift_records.h"
#include "schema/crm/managed/gift_table.h"
#include "schema/crm/sql_common/relink.h"

namespace giftsync::schema::crm::managed {
namespace {

/// Of an existing record only Created By is written: as Last Modified By.
bool is_written(const GiftUpsert& row, GiftField lookup) {
  return !row.exists || lookup == GiftField::created_by;
}

sql_common::MissingIdsFinder missing_ids_finder(soci::session& session, sql::Dialect dialect) {
  return [&session, dialect](const sql_common::RowIds& wanted) {
    return sql_common::missing_rows(session, dialect, wanted);
  };
}

/// As missing_ids_finder(), of the tables that have rows.
sql_common::MissingIdsFinder nonempty_missing_ids_finder(soci::session& session, sql::Dialect dialect) {
  return [&session, dialect](const sql_common::RowIds& wanted) {
    sql_common::RowIds missing = sql_common::missing_rows(session, dialect, wanted);
    for (auto& [object, ids] : missing)
      sql_common::clear_if_table_empty(session, sql_common::table_of(object), ids);
    return missing;
  };
}

}  // namespace

CheckedUpserts check_lookups(soci::session& session, sql::Dialect dialect, std::span<const GiftUpsert> rows) {
  CheckedUpserts checked;
  checked.cleared_lookups =
      sql_common::find_missing_lookups(rows, is_written, missing_ids_finder(session, dialect));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (checked.cleared_lookups[i].empty()) {
      checked.rows.push_back(&rows[i]);
      continue;
    }
    GiftUpsert& corrected = checked.corrected.emplace_back(rows[i]);
    checked.rows.push_back(&corrected);
    sql_common::clear_lookups_of(corrected.record, checked.cleared_lookups[i]);
    // The record's own lookups stay unchanged.
    if (corrected.exists) checked.cleared_lookups[i].clear();
  }
  return checked;
}

std::vector<std::vector<GiftField>> ManagedGiftRecords::missing_lookups(std::span<const Associations> links) {
  return database_.read([&](soci::session& session) {
    return sql_common::find_missing_lookups(links, nonempty_missing_ids_finder(session, database_.dialect()));
  });
}

std::vector<RowResult> ManagedGiftRecords::relink(std::span<const GiftRelink> rows) {
  if (rows.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  const sql_common::RelinkTables tables{
      transaction_table(dialect, "crm_gift_record"),
      [](GiftField field) { return std::string(descriptor_of(field).column); },
      [](const std::string& cell) { return cell; }, transaction_table(dialect, "crm_task"), "whoid"};
  return database_.write([&](soci::session& session) {
    return sql_common::relink(session, dialect, tables, rows, nonempty_missing_ids_finder(session, dialect));
  });
}

}  // namespace giftsync::schema::crm::managed
