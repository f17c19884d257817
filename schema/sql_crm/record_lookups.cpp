#include "schema/sql_crm/record_lookups.h"

namespace giftsync::schema::sql_crm {

LostLookups lost_among(std::span<const GiftUpsert> rows, const WritesLookup& writes,
                       const MissingIds& missing_among) {
  const auto id_in = [&](const GiftUpsert& row, const GiftLookup& lookup) {
    const auto* id = std::get_if<std::string>(&row.record.get(lookup.field));
    return id && writes(row, lookup.field) ? id : nullptr;
  };
  RowIds wanted;
  for (const GiftUpsert& row : rows) {
    for (const GiftLookup& lookup : kGiftLookups)
      if (const auto* id = id_in(row, lookup)) wanted[lookup.object].insert(*id);
  }
  RowIds missing = missing_among(wanted);
  LostLookups lost(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftLookup& lookup : kGiftLookups) {
      const auto* id = id_in(rows[i], lookup);
      if (id && missing[lookup.object].contains(*id)) lost[i].push_back(lookup.field);
    }
  }
  return lost;
}

LostLookups lost_among(std::span<const Associations> links, const MissingIds& missing_among) {
  RowIds wanted;
  for (const Associations& one : links) {
    for (const GiftLookup& lookup : kAssociationLookups)
      if (!(one.*lookup.id).empty()) wanted[lookup.object].insert(one.*lookup.id);
  }
  RowIds missing = missing_among(wanted);
  LostLookups lost(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    for (const GiftLookup& lookup : kAssociationLookups)
      if (missing[lookup.object].contains(links[i].*lookup.id)) lost[i].push_back(lookup.field);
  }
  return lost;
}

void leave_out(GiftRecord& record, const std::vector<GiftField>& lookups) {
  for (const GiftField lookup : lookups) {
    record.set(lookup, FieldValue());
    if (lookup == GiftField::opportunity) record.set(GiftField::deal_stage, FieldValue());
  }
}

LostLookups clear_targets(std::vector<GiftRelink>& rows, const MissingIds& missing_among) {
  std::vector<Associations> targets;
  for (const GiftRelink& row : rows) targets.push_back(row.to);
  LostLookups lost = lost_among(targets, missing_among);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (const GiftField lookup : lost[i]) rows[i].clear_target(lookup);
  }
  return lost;
}

TextRows relink_cells(Dialect dialect, std::span<const GiftRelink> rows) {
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

std::string for_each_association(std::size_t first, const std::string& between, const LookupPair& pair) {
  std::string text;
  for (const GiftLookup& lookup : kAssociationLookups) {
    const std::string one = pair(lookup.field, "c" + std::to_string(first++));
    text += (text.empty() || one.empty() ? "" : between) + one;
  }
  return text;
}

TextRows moved_task_cells(Dialect dialect, std::span<const GiftRelink> rows, const TransactionIds& updated) {
  TextRows texts(dialect, 3);
  for (const GiftRelink& row : rows) {
    if (updated.contains(row.transaction.value) && row.from.contact_id != row.to.contact_id)
      texts.add({std::to_string(row.transaction.value), row.from.contact_id, row.to.contact_id});
  }
  return texts;
}

std::vector<std::int64_t> ids_of(std::span<const GiftRelink> rows) {
  std::vector<std::int64_t> ids;
  for (const GiftRelink& row : rows) ids.push_back(row.transaction.value);
  return ids;
}

std::vector<RowResult> relink_results(std::span<const GiftRelink> rows, const TransactionIds& updated,
                                      const TransactionIds& known, const LostLookups& cleared) {
  using Kind = RowResult::Kind;
  std::vector<RowResult> results;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::int64_t id = rows[i].transaction.value;
    if (updated.contains(id))
      results.push_back({Kind::updated, {}, cleared[i]});
    else if (known.contains(id))
      results.push_back({Kind::unchanged, "the record holds other lookups than expected", {}});
    else
      results.push_back({Kind::gone, "the gift record was deleted in the CRM", {}});
  }
  return results;
}

}  // namespace giftsync::schema::sql_crm
