// schema/foreign_crm: the lookups of gift records in somebody else's table.
#include <algorithm>
#include <map>
#include <set>

#include "schema/foreign_crm/gift_statements.h"
#include "schema/foreign_crm/people.h"
#include "schema/foreign_crm/records.h"
#include "schema/sql_crm/record_rows.h"

namespace giftsync::schema::foreign_crm {
namespace {

using sql_crm::TextRows;
using sql_crm::TransactionIds;

struct Lookup {
  GiftField field;
  const char* object;
  std::string Associations::*id;  ///< null for people of ours
};
constexpr Lookup kLookups[] = {
    {GiftField::recipient_contact, "contact", &Associations::contact_id},
    {GiftField::account, "account", &Associations::account_id},
    {GiftField::recipient_lead, "lead", &Associations::lead_id},
    {GiftField::opportunity, "opportunity", &Associations::opportunity_id},
    {GiftField::sender, "user", nullptr},
    {GiftField::actual_sender, "user", nullptr},
    {GiftField::created_by, "user", nullptr},
    {GiftField::owner, "user", nullptr},
};

/// "column = cell" for the lookups that matching decides; `first` is the number of the first cell.
template <class Pair>
std::string for_each_association(const Tables& tables, std::size_t first, const char* between, Pair&& pair) {
  std::string text;
  for (const Lookup& lookup : kLookups) {
    if (!lookup.id) continue;
    const std::string cell = "c" + std::to_string(first++);
    if (tables.mapping().gift_column(lookup.field).empty()) continue;
    text += (text.empty() ? "" : between) + pair(quoted_column(tables, lookup.field), cell);
  }
  return text;
}

std::vector<std::vector<GiftField>> lost_in(soci::session& session, Dialect dialect, const Tables& tables,
                                            std::span<const Associations> links) {
  std::vector<std::vector<GiftField>> lost(links.size());
  for (const Lookup& lookup : kLookups) {
    if (!lookup.id) continue;
    std::set<std::string> wanted;
    for (const Associations& one : links) wanted.insert(one.*lookup.id);
    wanted.erase("");
    const std::set<std::string> missing = missing_ids(session, dialect, tables, lookup.object, wanted);
    for (std::size_t i = 0; i < links.size(); ++i) {
      if (missing.contains(links[i].*lookup.id)) lost[i].push_back(lookup.field);
    }
    if (tables.has(lookup.object))
      sql_crm::forget_if_empty(session, tables.table(lookup.object), lookup.field, lost);
  }
  return lost;
}

/// Leaves out of `to` what leads nowhere; returns what that was.
std::vector<std::vector<GiftField>> clear_targets(soci::session& session, Dialect dialect,
                                                  const Tables& tables, std::vector<GiftRelink>& rows) {
  std::vector<Associations> targets;
  for (const GiftRelink& row : rows) targets.push_back(row.to);
  std::vector<std::vector<GiftField>> lost = lost_in(session, dialect, tables, targets);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftField field : lost[i]) rows[i].clear_target(field);
  }
  return lost;
}

/// Cells 9 and 10 are the stage before and after. Named only where some row has another one after: most
/// rematches need no right to write it.
std::string stage_assignment(const Tables& tables, const std::vector<GiftRelink>& rows) {
  constexpr GiftField kStage = GiftField::deal_stage;
  const bool is_moved =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.moves_stage(); });
  if (!is_moved || tables.mapping().gift_column(kStage).empty()) return {};
  const std::string column = quoted_column(tables, kStage);
  return ", " + column + " = CASE WHEN c9 <> c10 AND coalesce(t." + column +
         ", '') = " + cast_cell(tables, 9, kStage) + " THEN nullif(" + cast_cell(tables, 10, kStage) +
         ", '') ELSE t." + column + " END";
}

TransactionIds write_links(soci::session& session, Dialect dialect, const Tables& tables,
                           const std::vector<GiftRelink>& rows) {
  TextRows texts(dialect, 11);
  for (const GiftRelink& row : rows) {
    TextRows::Row cells{std::to_string(row.transaction.value)};
    for (const Associations* links : {&row.from, &row.to}) {
      for (const Lookup& lookup : kLookups)
        if (lookup.id) cells.emplace_back(links->*lookup.id);
    }
    cells.emplace_back(row.stage_from);
    cells.emplace_back(row.stage_to);
    texts.add(cells);
  }
  const std::string set = for_each_association(tables, 5, ", ", [](const auto& column, const auto& cell) {
    return column + " = nullif(" + cell + ", '')";
  });
  if (set.empty()) return {};  // the CRM has none of them
  return run_returning(session, texts,
                       "UPDATE " + tables.table(kGift) + " AS t SET " + set + stage_assignment(tables, rows) +
                           " FROM " + texts.as_table() + " WHERE " + same_transaction(tables) + " AND " +
                           for_each_association(tables, 1, " AND ",
                                                [](const auto& column, const auto& cell) {
                                                  return "coalesce(t." + column + ", '') = " + cell;
                                                }) +
                           returning(dialect, tables, "t"));
}

/// A task's Name follows its gift, unless somebody gave it another one.
void move_tasks(soci::session& session, Dialect dialect, const Tables& tables,
                std::span<const GiftRelink> rows, const TransactionIds& updated) {
  TextRows texts(dialect, 3);
  for (const GiftRelink& row : rows) {
    if (updated.contains(row.transaction.value) && row.from.contact_id != row.to.contact_id)
      texts.add({std::to_string(row.transaction.value), row.from.contact_id, row.to.contact_id});
  }
  if (texts.empty()) return;
  const std::string who = sql_crm::quoted(tables.mapping().column_name("task", "WhoId"));
  run_returning(session, texts,
                "UPDATE " + tables.table("task") + " AS t SET " + who + " = nullif(c2, '') FROM " +
                    texts.as_table() + " WHERE " + tables.column("t", "task", kTransaction) + " = " +
                    tables.cast("c0", "task", kTransaction) + " AND coalesce(t." + who +
                    ", '') = c1 RETURNING " + transaction_of(dialect, tables, "t", "task"));
}

}  // namespace

std::vector<std::vector<GiftField>> clear_lookups(soci::session& session, Dialect dialect,
                                                  const Tables& tables, std::vector<GiftUpsert>& rows) {
  std::map<std::string, std::set<std::string>> wanted;
  const auto id_in = [&](const GiftUpsert& row, GiftField field) {
    const bool is_written = !row.exists && !tables.mapping().gift_column(field).empty();
    return is_written ? std::get_if<std::string>(&row.record.get(field)) : nullptr;
  };
  for (const GiftUpsert& row : rows) {
    for (const Lookup& lookup : kLookups)
      if (const auto* id = id_in(row, lookup.field)) wanted[lookup.object].insert(*id);
  }
  std::map<std::string, std::set<std::string>> missing;
  for (const auto& [object, ids] : wanted)
    missing[object] = missing_ids(session, dialect, tables, object, ids);
  std::vector<std::vector<GiftField>> cleared(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const Lookup& lookup : kLookups) {
      const auto* id = id_in(rows[i], lookup.field);
      if (!id || !missing[lookup.object].contains(*id)) continue;
      rows[i].record.set(lookup.field, FieldValue());
      if (lookup.field == GiftField::opportunity) rows[i].record.set(GiftField::deal_stage, FieldValue());
      cleared[i].push_back(lookup.field);
    }
  }
  return cleared;
}

std::vector<RowResult> relink_gifts(sql::Database& database, const Tables& tables, bool with_tasks,
                                    std::span<const GiftRelink> given) {
  if (given.empty()) return {};
  const Dialect dialect = database.dialect();
  return database.write([&](soci::session& session) {
    lock_records(session, dialect);
    std::vector<GiftRelink> rows(given.begin(), given.end());
    const auto cleared = clear_targets(session, dialect, tables, rows);
    const TransactionIds updated = write_links(session, dialect, tables, rows);
    if (with_tasks) move_tasks(session, dialect, tables, rows, updated);
    std::vector<std::int64_t> ids;
    for (const GiftRelink& row : rows) ids.push_back(row.transaction.value);
    const std::set<std::int64_t> known = present(session, dialect, tables, kGift, ids);
    return sql_crm::relink_results(ids, updated, known, cleared);
  });
}

std::vector<std::vector<GiftField>> lost_lookups(sql::Database& database, const Tables& tables,
                                                 std::span<const Associations> links) {
  return database.read(
      [&](soci::session& session) { return lost_in(session, database.dialect(), tables, links); });
}

}  // namespace giftsync::schema::foreign_crm
