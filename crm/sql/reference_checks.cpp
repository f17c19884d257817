#include "crm/sql/reference_checks.h"

#include <algorithm>

namespace giftsync::crm::sql_crm {

MissingLookups find_missing_lookups(std::span<const GiftUpsert> rows, const WritesLookup& writes,
                                    const MissingIdsFinder& find_missing) {
  const auto id_in = [&](const GiftUpsert& row, const GiftLookup& lookup) {
    const auto* id = std::get_if<std::string>(&row.record.get(lookup.field));
    return id && writes(row, lookup.field) ? id : nullptr;
  };
  RowIds wanted;
  for (const GiftUpsert& row : rows) {
    for (const GiftLookup& lookup : kGiftLookups)
      if (const auto* id = id_in(row, lookup)) wanted[lookup.object].insert(*id);
  }
  RowIds missing = find_missing(wanted);
  MissingLookups result(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftLookup& lookup : kGiftLookups) {
      const auto* id = id_in(rows[i], lookup);
      if (id && missing[lookup.object].contains(*id)) result[i].push_back(lookup.field);
    }
  }
  return result;
}

MissingLookups find_missing_lookups(std::span<const Associations> links,
                                    const MissingIdsFinder& find_missing) {
  RowIds wanted;
  for (const Associations& link : links) {
    for (const GiftLookup& lookup : kAssociationLookups)
      if (!(link.*lookup.id).empty()) wanted[lookup.object].insert(link.*lookup.id);
  }
  RowIds missing = find_missing(wanted);
  MissingLookups result(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const GiftLookup& lookup : kAssociationLookups)
      if (missing[lookup.object].contains(links[i].*lookup.id)) result[i].push_back(lookup.field);
  }
  return result;
}

void clear_lookups_of(GiftRecord& record, const std::vector<GiftField>& lookups) {
  for (const GiftField lookup : lookups) {
    record.set(lookup, FieldValue());
    if (lookup == GiftField::opportunity) record.set(GiftField::deal_stage, FieldValue());
  }
}

namespace {

// The cells: the transaction, the lookups before and after, Deal Stage before and after.
constexpr std::size_t kLinksBefore = 1;
constexpr std::size_t kLinksAfter = kLinksBefore + kAssociationCount;
constexpr std::size_t kStageBefore = kLinksAfter + kAssociationCount;
constexpr std::size_t kStageAfter = kStageBefore + 1;

std::string cell(std::size_t number) {
  return "c" + std::to_string(number);
}

TextRows link_cells(sql::Dialect dialect, std::span<const GiftRelink> rows) {
  TextRows cells(dialect, kStageAfter + 1);
  for (const GiftRelink& row : rows) {
    TextRows::Row one{std::to_string(row.transaction.value)};
    for (const Associations* links : {&row.from, &row.to}) {
      for (const GiftLookup& lookup : kAssociationLookups) one.emplace_back(links->*lookup.id);
    }
    one.emplace_back(row.stage_from);
    one.emplace_back(row.stage_to);
    cells.add(one);
  }
  return cells;
}

/// pair(column, cell) for the lookups that matching decides and the CRM has.
template <class Pair>
std::string join_links(const RelinkTables& tables, std::size_t first_cell, const std::string& between,
                       Pair&& pair) {
  std::string text;
  for (const GiftLookup& lookup : kAssociationLookups) {
    const std::string given = cell(first_cell++);
    const std::string column = tables.column(lookup.field);
    if (!column.empty()) text += (text.empty() ? "" : between) + pair(column, given);
  }
  return text;
}

/// Named only where some row has another stage after: most rematches need no right to write it.
std::string stage_assignment(const RelinkTables& tables, std::span<const GiftRelink> rows) {
  const std::string column = tables.column(GiftField::deal_stage);
  const bool is_moved =
      std::any_of(rows.begin(), rows.end(), [](const auto& row) { return row.changes_stage(); });
  if (!is_moved || column.empty()) return {};
  const std::string from = cell(kStageBefore);
  const std::string to = cell(kStageAfter);
  return ", " + column + " = CASE WHEN " + from + " <> " + to + " AND coalesce(t." + column +
         ", '') = " + tables.as_stage(from) + " THEN nullif(" + tables.as_stage(to) + ", '') ELSE t." +
         column + " END";
}

TransactionIds write_links(soci::session& session, const RelinkTables& tables,
                           std::span<const GiftRelink> rows) {
  const std::string assignments =
      join_links(tables, kLinksAfter, ", ", [](const std::string& column, const std::string& after) {
        return column + " = nullif(" + after + ", '')";
      });
  if (assignments.empty()) return {};  // the CRM has none of them
  const std::string is_unchanged =
      join_links(tables, kLinksBefore, " AND ", [](const std::string& column, const std::string& before) {
        return "coalesce(t." + column + ", '') = " + before;
      });
  TextRows cells = link_cells(session, rows);
  return update_rows(session, tables.gifts, cells, assignments + stage_assignment(tables, rows),
                     is_unchanged);
}

void update_task_contacts(soci::session& session, const RelinkTables& tables,
                          std::span<const GiftRelink> rows, const TransactionIds& updated) {
  TextRows cells(session, 3);
  for (const GiftRelink& row : rows) {
    if (updated.contains(row.transaction.value) && row.from.contact_id != row.to.contact_id)
      cells.add({std::to_string(row.transaction.value), row.from.contact_id, row.to.contact_id});
  }
  update_rows(session, *tables.tasks, cells, tables.task_contact + " = nullif(c2, '')",
              "coalesce(t." + tables.task_contact + ", '') = c1");
}

/// Removes missing targets from `to`; returns the removed lookups.
MissingLookups clear_missing_targets(std::vector<GiftRelink>& rows, const MissingIdsFinder& find_missing) {
  std::vector<Associations> targets;
  for (const GiftRelink& row : rows) targets.push_back(row.to);
  MissingLookups missing = find_missing_lookups(targets, find_missing);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftField lookup : missing[i]) rows[i].clear_target(lookup);
  }
  return missing;
}

}  // namespace

std::vector<RowResult> relink(soci::session& session, const RelinkTables& tables,
                              std::span<const GiftRelink> given, const MissingIdsFinder& find_missing) {
  using Kind = RowResult::Kind;
  std::vector<GiftRelink> rows(given.begin(), given.end());
  MissingLookups cleared_lookups = clear_missing_targets(rows, find_missing);
  const TransactionIds updated = write_links(session, tables, rows);
  if (tables.tasks) update_task_contacts(session, tables, rows, updated);
  std::vector<std::int64_t> ids;
  for (const GiftRelink& row : rows) ids.push_back(row.transaction.value);
  const TransactionIds known = existing_transactions(session, tables.gifts, ids);
  std::vector<RowResult> results;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (updated.contains(ids[i]))
      results.push_back({Kind::updated, {}, std::move(cleared_lookups[i])});
    else if (known.contains(ids[i]))
      results.push_back({Kind::unchanged, "the record holds other lookups than expected", {}});
    else
      results.push_back({Kind::not_found, "the gift record was deleted in the CRM", {}});
  }
  return results;
}

}  // namespace giftsync::crm::sql_crm
