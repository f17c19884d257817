#include "schema/crm/managed/gift_lookups.h"

#include "schema/crm/managed/gift_records.h"

namespace giftsync::schema::crm::managed {
namespace {

/// Of an existing record only Created By is written: as Last Modified By.
bool is_written(const GiftUpsert& row, GiftField lookup) {
  return !row.exists || lookup == GiftField::created_by;
}

std::string column(GiftField field) {
  return std::string(descriptor_of(field).column);
}

std::string cell(std::size_t number) {
  return "c" + std::to_string(number);
}

/// Where the two cells are equal, and where the record has another stage, it stays.
std::string stage_assignment() {
  const std::string stage = column(GiftField::deal_stage);
  const std::string from = cell(sql_common::kStageBefore);
  const std::string to = cell(sql_common::kStageAfter);
  const std::string current = "crm_gift_record." + stage;
  return stage + " = CASE WHEN " + from + " <> " + to + " AND coalesce(" + current + ", '') = " + from +
         " THEN nullif(" + to + ", '') ELSE " + current + " END";
}

sql_common::TransactionIds write_links(soci::session& session, sql::Dialect dialect,
                                       std::span<const GiftRelink> rows) {
  sql_common::TextRows texts = sql_common::relink_cells(dialect, rows);
  const auto assigned = [](GiftField lookup, const std::string& after) {
    return column(lookup) + " = nullif(" + after + ", '')";
  };
  const auto is_unchanged_condition = [](GiftField lookup, const std::string& before) {
    return "coalesce(crm_gift_record." + column(lookup) + ", '') = " + before;
  };
  return sql_common::run_returning(
      session, texts,
      "UPDATE crm_gift_record SET " + sql_common::join_associations(sql_common::kLinksAfter, ", ", assigned) +
          ", " + stage_assignment() + ", lastmodifieddate = " + sql_common::now_expression(dialect) +
          " FROM " + texts.as_table() +
          " WHERE crm_gift_record.recipienttransactionid = cast(c0 as BIGINT) AND " +
          sql_common::join_associations(sql_common::kLinksBefore, " AND ", is_unchanged_condition) +
          " RETURNING recipienttransactionid");
}

/// A task's Name follows its gift, unless a user changed it.
void update_task_contacts(soci::session& session, sql::Dialect dialect, std::span<const GiftRelink> rows,
                          const sql_common::TransactionIds& updated) {
  sql_common::TextRows texts = sql_common::task_contact_cells(dialect, rows, updated);
  if (texts.empty()) return;
  sql_common::run_returning(session, texts,
                            "UPDATE crm_task SET whoid = nullif(c2, ''), lastmodifieddate = " +
                                sql_common::now_expression(dialect) + " FROM " + texts.as_table() +
                                " WHERE crm_task.recipienttransactionid = cast(c0 as BIGINT) AND "
                                "coalesce(crm_task.whoid, '') = c1 RETURNING recipienttransactionid");
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

std::vector<RowResult> ManagedGiftRecords::relink(std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  const sql::Dialect dialect = database_.dialect();
  return database_.write([&](soci::session& session) {
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const sql_common::MissingLookups cleared_lookups =
        sql_common::clear_missing_targets(rows, nonempty_missing_ids_finder(session, dialect));
    const sql_common::TransactionIds updated = write_links(session, dialect, rows);
    update_task_contacts(session, dialect, rows, updated);
    const sql_common::TransactionIds known = sql_common::existing_transactions(
        session, dialect, "crm_gift_record", sql_common::transaction_ids_of(rows));
    return sql_common::relink_results(rows, updated, known, cleared_lookups);
  });
}

}  // namespace giftsync::schema::crm::managed
