#include "schema/crm/sql_common/reference_checks.h"

namespace giftsync::schema::crm::sql_common {

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
  for (const Associations& one : links) {
    for (const GiftLookup& lookup : kAssociationLookups)
      if (!(one.*lookup.id).empty()) wanted[lookup.object].insert(one.*lookup.id);
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

MissingLookups clear_missing_targets(std::vector<GiftRelink>& rows, const MissingIdsFinder& find_missing) {
  std::vector<Associations> targets;
  for (const GiftRelink& row : rows) targets.push_back(row.to);
  MissingLookups result = find_missing_lookups(targets, find_missing);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftField lookup : result[i]) rows[i].clear_target(lookup);
  }
  return result;
}

TextRows relink_cells(sql::Dialect dialect, std::span<const GiftRelink> rows) {
  TextRows texts(dialect, kStageAfter + 1);
  for (const GiftRelink& row : rows) {
    TextRows::Row cells{std::to_string(row.transaction.value)};
    for (const Associations* links : {&row.from, &row.to}) {
      for (const GiftLookup& lookup : kAssociationLookups) cells.emplace_back(links->*lookup.id);
    }
    cells.emplace_back(row.stage_from);
    cells.emplace_back(row.stage_to);
    texts.add(cells);
  }
  return texts;
}

std::string join_associations(std::size_t first, const std::string& between, const LookupPair& pair) {
  std::string text;
  for (const GiftLookup& lookup : kAssociationLookups) {
    const std::string one = pair(lookup.field, "c" + std::to_string(first++));
    text += (text.empty() || one.empty() ? "" : between) + one;
  }
  return text;
}

TextRows task_contact_cells(sql::Dialect dialect, std::span<const GiftRelink> rows,
                            const TransactionIds& updated) {
  TextRows texts(dialect, 3);
  for (const GiftRelink& row : rows) {
    if (updated.contains(row.transaction.value) && row.from.contact_id != row.to.contact_id)
      texts.add({std::to_string(row.transaction.value), row.from.contact_id, row.to.contact_id});
  }
  return texts;
}

std::vector<std::int64_t> transaction_ids_of(std::span<const GiftRelink> rows) {
  std::vector<std::int64_t> ids;
  for (const GiftRelink& row : rows) ids.push_back(row.transaction.value);
  return ids;
}

std::vector<RowResult> relink_results(std::span<const GiftRelink> rows, const TransactionIds& updated,
                                      const TransactionIds& known, const MissingLookups& cleared_lookups) {
  using Kind = RowResult::Kind;
  std::vector<RowResult> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t id = rows[i].transaction.value;
    if (updated.contains(id))
      results.push_back({Kind::updated, {}, cleared_lookups[i]});
    else if (known.contains(id))
      results.push_back({Kind::unchanged, "the record holds other lookups than expected", {}});
    else
      results.push_back({Kind::not_found, "the gift record was deleted in the CRM", {}});
  }
  return results;
}

}  // namespace giftsync::schema::crm::sql_common
