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

}  // namespace giftsync::schema::crm::sql_common
