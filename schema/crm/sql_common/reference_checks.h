// schema/crm/sql_common: checks the lookups of gift records, for both SQL CRMs. A lookup whose target was
// deleted or merged is refused as a remote CRM would do it: it is left empty and reported (SYNC-17). Each CRM
// determines the missing ids of its own tables. Included by schema/'s .cpp files only.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm/gift_records.h"
#include "schema/crm/sql_common/text_rows.h"
#include "schema/crm/sql_common/transaction_rows.h"
#include "schema/sql/database.h"

namespace giftsync::schema::crm::sql_common {

struct GiftLookup {
  GiftField field;
  const char* object;             ///< the object of the target row
  std::string Associations::*id;  ///< null for the managed CRM's people
};
inline constexpr std::array<GiftLookup, 8> kGiftLookups{{
    {GiftField::recipient_contact, "contact", &Associations::contact_id},
    {GiftField::account, "account", &Associations::account_id},
    {GiftField::recipient_lead, "lead", &Associations::lead_id},
    {GiftField::opportunity, "opportunity", &Associations::opportunity_id},
    {GiftField::sender, "user", nullptr},
    {GiftField::actual_sender, "user", nullptr},
    {GiftField::created_by, "user", nullptr},
    {GiftField::owner, "user", nullptr},
}};
/// The number of leading lookups that matching decides.
inline constexpr std::size_t kAssociationCount = 4;
inline constexpr std::span<const GiftLookup> kAssociationLookups{kGiftLookups.data(), kAssociationCount};

/// For each row its lookups whose targets do not exist.
using MissingLookups = std::vector<std::vector<GiftField>>;
/// The ids that refer to no row.
using MissingIdsFinder = std::function<RowIds(const RowIds& wanted)>;
/// Whether this upsert writes that lookup.
using WritesLookup = std::function<bool(const GiftUpsert& row, GiftField lookup)>;

MissingLookups find_missing_lookups(std::span<const GiftUpsert> rows, const WritesLookup& writes,
                                    const MissingIdsFinder& find_missing);
MissingLookups find_missing_lookups(std::span<const Associations> links,
                                    const MissingIdsFinder& find_missing);

/// Clears the lookups; Deal Stage is cleared with its opportunity.
void clear_lookups_of(GiftRecord& record, const std::vector<GiftField>& lookups);

}  // namespace giftsync::schema::crm::sql_common
