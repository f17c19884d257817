// schema/sql_crm: the lookups of gift records, whoever owns the CRM's tables: which of them lead nowhere, and
// what a statement that links records anew is made of. A lookup that points to a row which was deleted or
// merged is refused, as a remote CRM would do it: it is left empty and reported (design 3.2). Which ids are
// missing, each CRM says for its own tables. Included by schema/'s .cpp files only.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"
#include "schema/sql_crm/record_rows.h"
#include "schema/sql_crm/text_rows.h"

namespace giftsync::schema::sql_crm {

struct GiftLookup {
  GiftField field;
  const char* object;             ///< whose row it points to
  std::string Associations::*id;  ///< null for people of ours
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
/// The first of them, which matching decides.
inline constexpr std::size_t kAssociationCount = 4;
inline constexpr std::span<const GiftLookup> kAssociationLookups{kGiftLookups.data(), kAssociationCount};

/// Lookups that lead nowhere, of each row.
using LostLookups = std::vector<std::vector<GiftField>>;
/// Those of the ids that lead to no row.
using MissingIds = std::function<RowIds(const RowIds& wanted)>;
/// Whether this upsert writes that lookup.
using WritesLookup = std::function<bool(const GiftUpsert& row, GiftField lookup)>;

LostLookups lost_among(std::span<const GiftUpsert> rows, const WritesLookup& writes,
                       const MissingIds& missing_among);
LostLookups lost_among(std::span<const Associations> links, const MissingIds& missing_among);

/// Empties the lookups; Deal Stage goes with its opportunity.
void leave_out(GiftRecord& record, const std::vector<GiftField>& lookups);
/// Leaves out of `to` what leads nowhere; returns what that was.
LostLookups clear_targets(std::vector<GiftRelink>& rows, const MissingIds& missing_among);

/// The cells of records that are linked anew: the transaction, the lookups before and after, Deal Stage
/// before and after.
TextRows relink_cells(Dialect dialect, std::span<const GiftRelink> rows);
inline constexpr std::size_t kLinksBefore = 1;
inline constexpr std::size_t kLinksAfter = kLinksBefore + kAssociationCount;
inline constexpr std::size_t kStageBefore = kLinksAfter + kAssociationCount;
inline constexpr std::size_t kStageAfter = kStageBefore + 1;

/// pair(lookup, cell) for each that matching decides; `first` is the number of the first cell. An empty text
/// leaves the lookup out.
using LookupPair = std::function<std::string(GiftField lookup, const std::string& cell)>;
std::string for_each_association(std::size_t first, const std::string& between, const LookupPair& pair);

/// The cells of tasks whose Name follows their gift: the transaction, the contact before and after.
TextRows moved_task_cells(Dialect dialect, std::span<const GiftRelink> rows, const TransactionIds& updated);

std::vector<std::int64_t> ids_of(std::span<const GiftRelink> rows);

/// What became of each; `known`: those that have a record; `cleared`: the lookups that lead nowhere.
std::vector<RowResult> relink_results(std::span<const GiftRelink> rows, const TransactionIds& updated,
                                      const TransactionIds& known, const LostLookups& cleared);

}  // namespace giftsync::schema::sql_crm
