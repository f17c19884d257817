// crm/sql: checks the lookups of gift records, for both SQL CRMs. A lookup whose target was
// deleted or merged is refused as a remote CRM would do it: it is left empty and reported (SYNC-17). Each CRM
// determines the missing ids of its own tables. Included by schema/'s .cpp files only.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crm/gift_records.h"
#include "crm/sql/table_rows.h"
#include "crm/sql/transaction_rows.h"
#include "schema/sql/database.h"

namespace giftsync::crm::sql_crm {

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

// Relinks gift records, for both SQL CRMs. Included by schema/'s .cpp files only.

/// How the statements name the tables' columns.
struct RelinkTables {
  TransactionTable gifts;
  std::function<std::string(GiftField)> column;  ///< in quotes where needed; empty when the CRM has none
  std::function<std::string(const std::string& cell)> as_stage;  ///< a cell as a value of Deal Stage's column
  std::optional<TransactionTable> tasks;                         ///< none: no task follows its gift
  std::string task_contact = {};                                 ///< the tasks' WhoId
};

/// Relinks existing records in the transaction of the session. Targets that do not exist are left empty
/// (SYNC-17). A task's Name follows its gift, unless a user changed it.
std::vector<RowResult> relink(soci::session& session, const RelinkTables& tables,
                              std::span<const GiftRelink> rows, const MissingIdsFinder& find_missing);

}  // namespace giftsync::crm::sql_crm
