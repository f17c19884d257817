#include "schema/sql_crm/gift_lookups.h"

#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::sql_crm {
namespace {

struct Lookup {
  GiftField field;
  const char* table;
};
constexpr Lookup kLookups[] = {
    {GiftField::recipient_contact, "crm_contact"},
    {GiftField::account, "crm_account"},
    {GiftField::recipient_lead, "crm_lead"},
    {GiftField::opportunity, "crm_opportunity"},
    {GiftField::sender, "crm_user"},
    {GiftField::actual_sender, "crm_user"},
    {GiftField::created_by, "crm_user"},
    {GiftField::owner, "crm_user"},
};

const std::string* id_in(const GiftRecord& record, GiftField field) {
  return std::get_if<std::string>(&record.get(field));
}

/// Of an existing record only Created By goes out: as who changed it last.
bool is_written(const GiftUpsert& row, const Lookup& lookup) {
  return !row.exists || lookup.field == GiftField::created_by;
}

/// The lookups of Associations with their tables.
struct AssociationLookup {
  GiftField field;
  const char* table;
  std::string Associations::*id;
};
constexpr AssociationLookup kAssociations[] = {
    {GiftField::recipient_contact, "crm_contact", &Associations::contact_id},
    {GiftField::account, "crm_account", &Associations::account_id},
    {GiftField::recipient_lead, "crm_lead", &Associations::lead_id},
    {GiftField::opportunity, "crm_opportunity", &Associations::opportunity_id},
};

/// "column = value" for the four lookups; `first` is the number of the first cell.
std::string for_each_lookup(std::size_t first, const std::string& between, const std::string& before,
                            const std::string& after, const std::string& cell_before,
                            const std::string& cell_after) {
  std::string text;
  for (const AssociationLookup& lookup : kAssociations) {
    text += (text.empty() ? "" : between) + before + std::string(field_of(lookup.field).column) + after +
            " = " + cell_before + "c" + std::to_string(first++) + cell_after;
  }
  return text;
}

TextRows::Row cells_of(const GiftRelink& row) {
  TextRows::Row cells{std::to_string(row.transaction.value)};
  for (const AssociationLookup& lookup : kAssociations) cells.emplace_back(row.from.*lookup.id);
  for (const AssociationLookup& lookup : kAssociations) cells.emplace_back(row.to.*lookup.id);
  cells.emplace_back(row.stage_from);
  cells.emplace_back(row.stage_to);
  return cells;
}

/// Where the two cells are equal, and where the record has another stage, it stays.
std::string stage_assignment() {
  const std::string column(field_of(GiftField::deal_stage).column);
  const std::string from = "c" + std::to_string(1 + 2 * std::size(kAssociations));
  const std::string to = "c" + std::to_string(2 + 2 * std::size(kAssociations));
  const std::string held = "crm_gift_record." + column;
  return column + " = CASE WHEN " + from + " <> " + to + " AND coalesce(" + held + ", '') = " + from +
         " THEN nullif(" + to + ", '') ELSE " + held + " END";
}

TransactionIds write_links(soci::session& session, Dialect dialect, const std::vector<GiftRelink>& rows) {
  TextRows texts(dialect, 3 + 2 * std::size(kAssociations));
  for (const GiftRelink& row : rows) texts.add(cells_of(row));
  return run_returning(session, texts,
                       "UPDATE crm_gift_record SET " +
                           for_each_lookup(1 + std::size(kAssociations), ", ", "", "", "nullif(", ", '')") +
                           ", " + stage_assignment() + ", lastmodifieddate = " + now_text(dialect) +
                           " FROM " + texts.as_table() +
                           " WHERE crm_gift_record.recipienttransactionid = cast(c0 as BIGINT) AND " +
                           for_each_lookup(1, " AND ", "coalesce(crm_gift_record.", ", '')", "", "") +
                           " RETURNING recipienttransactionid");
}

/// A task's Name follows its gift, unless somebody gave it another one.
void move_tasks(soci::session& session, Dialect dialect, const std::vector<GiftRelink>& rows,
                const TransactionIds& updated) {
  TextRows texts(dialect, 3);
  for (const GiftRelink& row : rows) {
    if (updated.contains(row.transaction.value) && row.from.contact_id != row.to.contact_id)
      texts.add({std::to_string(row.transaction.value), row.from.contact_id, row.to.contact_id});
  }
  if (texts.empty()) return;
  run_returning(session, texts,
                "UPDATE crm_task SET whoid = nullif(c2, ''), lastmodifieddate = " + now_text(dialect) +
                    " FROM " + texts.as_table() +
                    " WHERE crm_task.recipienttransactionid = cast(c0 as BIGINT) AND "
                    "coalesce(crm_task.whoid, '') = c1 RETURNING recipienttransactionid");
}

std::vector<std::vector<GiftField>> lost_in(soci::session& session, Dialect dialect,
                                            std::span<const Associations> links) {
  RowIds wanted;
  for (const Associations& one : links) {
    for (const AssociationLookup& lookup : kAssociations) {
      if (!(one.*lookup.id).empty()) wanted[lookup.table].insert(one.*lookup.id);
    }
  }
  RowIds missing = missing_rows(session, dialect, wanted);
  std::vector<std::vector<GiftField>> lost(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const AssociationLookup& lookup : kAssociations) {
      if (missing[lookup.table].contains(links[i].*lookup.id)) lost[i].push_back(lookup.field);
    }
  }
  for (const AssociationLookup& lookup : kAssociations)
    forget_if_empty(session, lookup.table, lookup.field, lost);
  return lost;
}

/// Leaves out of `to` what leads nowhere; returns what that was.
std::vector<std::vector<GiftField>> clear_targets(soci::session& session, Dialect dialect,
                                                  std::vector<GiftRelink>& rows) {
  std::vector<Associations> targets;
  for (const GiftRelink& row : rows) targets.push_back(row.to);
  std::vector<std::vector<GiftField>> lost = lost_in(session, dialect, targets);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftField field : lost[i]) rows[i].clear_target(field);
  }
  return lost;
}

}  // namespace

CheckedUpserts check_lookups(soci::session& session, Dialect dialect, std::span<const GiftUpsert> rows) {
  RowIds wanted;
  for (const GiftUpsert& row : rows) {
    for (const Lookup& lookup : kLookups) {
      const std::string* id = id_in(row.record, lookup.field);
      if (id && is_written(row, lookup)) wanted[lookup.table].insert(*id);
    }
  }
  RowIds missing = missing_rows(session, dialect, wanted);
  CheckedUpserts checked;
  checked.cleared.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    GiftUpsert* mended = nullptr;
    for (const Lookup& lookup : kLookups) {
      const std::string* id = id_in(rows[i].record, lookup.field);
      if (!id || !is_written(rows[i], lookup) || !missing[lookup.table].contains(*id)) continue;
      if (!mended) mended = &checked.mended.emplace_back(rows[i]);
      mended->record.set(lookup.field, FieldValue());
      // It is the stage of that one.
      if (lookup.field == GiftField::opportunity) mended->record.set(GiftField::deal_stage, FieldValue());
      if (!rows[i].exists) checked.cleared[i].push_back(lookup.field);
    }
    checked.rows.push_back(mended ? mended : &rows[i]);
  }
  return checked;
}

std::vector<std::vector<GiftField>> lost_lookups(sql::Database& database,
                                                 std::span<const Associations> links) {
  return database.read([&](soci::session& session) { return lost_in(session, database.dialect(), links); });
}

std::vector<RowResult> relink_gift_rows(sql::Database& database, std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  const Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const auto cleared = clear_targets(session, dialect, rows);
    const TransactionIds updated = write_links(session, dialect, rows);
    move_tasks(session, dialect, rows, updated);
    std::vector<std::int64_t> ids;
    for (const GiftRelink& row : rows) ids.push_back(row.transaction.value);
    const TransactionIds known = present_in(session, dialect, "crm_gift_record", ids);
    return relink_results(ids, updated, known, cleared);
  });
}

}  // namespace giftsync::schema::sql_crm
