#include "schema/sql_crm/gift_lookups.h"

namespace giftsync::schema::sql_crm {
namespace {

/// Of an existing record only Created By goes out: as who changed it last.
bool is_written(const GiftUpsert& row, GiftField lookup) {
  return !row.exists || lookup == GiftField::created_by;
}

std::string column(GiftField field) {
  return std::string(field_of(field).column);
}

std::string cell(std::size_t number) {
  return "c" + std::to_string(number);
}

/// Where the two cells are equal, and where the record has another stage, it stays.
std::string stage_assignment() {
  const std::string stage = column(GiftField::deal_stage);
  const std::string from = cell(kStageBefore);
  const std::string to = cell(kStageAfter);
  const std::string held = "crm_gift_record." + stage;
  return stage + " = CASE WHEN " + from + " <> " + to + " AND coalesce(" + held + ", '') = " + from +
         " THEN nullif(" + to + ", '') ELSE " + held + " END";
}

TransactionIds write_links(soci::session& session, Dialect dialect, std::span<const GiftRelink> rows) {
  TextRows texts = relink_cells(dialect, rows);
  const auto assigned = [](GiftField lookup, const std::string& after) {
    return column(lookup) + " = nullif(" + after + ", '')";
  };
  const auto still_held = [](GiftField lookup, const std::string& before) {
    return "coalesce(crm_gift_record." + column(lookup) + ", '') = " + before;
  };
  return run_returning(
      session, texts,
      "UPDATE crm_gift_record SET " + for_each_association(kLinksAfter, ", ", assigned) + ", " +
          stage_assignment() + ", lastmodifieddate = " + now_text(dialect) + " FROM " + texts.as_table() +
          " WHERE crm_gift_record.recipienttransactionid = cast(c0 as BIGINT) AND " +
          for_each_association(kLinksBefore, " AND ", still_held) + " RETURNING recipienttransactionid");
}

/// A task's Name follows its gift, unless somebody gave it another one.
void move_tasks(soci::session& session, Dialect dialect, std::span<const GiftRelink> rows,
                const TransactionIds& updated) {
  TextRows texts = moved_task_cells(dialect, rows, updated);
  if (texts.empty()) return;
  run_returning(session, texts,
                "UPDATE crm_task SET whoid = nullif(c2, ''), lastmodifieddate = " + now_text(dialect) +
                    " FROM " + texts.as_table() +
                    " WHERE crm_task.recipienttransactionid = cast(c0 as BIGINT) AND "
                    "coalesce(crm_task.whoid, '') = c1 RETURNING recipienttransactionid");
}

MissingIds missing_in(soci::session& session, Dialect dialect) {
  return [&session, dialect](const RowIds& wanted) { return missing_rows(session, dialect, wanted); };
}

/// As missing_in(), of the tables that have rows.
MissingIds missing_in_filled(soci::session& session, Dialect dialect) {
  return [&session, dialect](const RowIds& wanted) {
    RowIds missing = missing_rows(session, dialect, wanted);
    for (auto& [object, ids] : missing) forget_if_empty(session, table_of(object), ids);
    return missing;
  };
}

}  // namespace

CheckedUpserts check_lookups(soci::session& session, Dialect dialect, std::span<const GiftUpsert> rows) {
  CheckedUpserts checked;
  checked.cleared = lost_among(rows, is_written, missing_in(session, dialect));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (checked.cleared[i].empty()) {
      checked.rows.push_back(&rows[i]);
      continue;
    }
    GiftUpsert& mended = checked.mended.emplace_back(rows[i]);
    checked.rows.push_back(&mended);
    leave_out(mended.record, checked.cleared[i]);
    // The record's own lookups stay as they are.
    if (mended.exists) checked.cleared[i].clear();
  }
  return checked;
}

LostLookups lost_lookups(sql::Database& database, std::span<const Associations> links) {
  return database.read([&](soci::session& session) {
    return lost_among(links, missing_in_filled(session, database.dialect()));
  });
}

std::vector<RowResult> relink_gift_rows(sql::Database& database, std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  const Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const LostLookups cleared = clear_targets(rows, missing_in_filled(session, dialect));
    const TransactionIds updated = write_links(session, dialect, rows);
    move_tasks(session, dialect, rows, updated);
    const TransactionIds known = present_in(session, dialect, "crm_gift_record", ids_of(rows));
    return relink_results(rows, updated, known, cleared);
  });
}

}  // namespace giftsync::schema::sql_crm
