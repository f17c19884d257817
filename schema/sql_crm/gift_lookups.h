// schema/sql_crm: the lookups of gift records in our own tables (schema/sql_crm/record_lookups.h). Included
// by schema/'s .cpp files only.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "schema/sql_crm/record_lookups.h"

namespace giftsync::schema::sql_crm {

/// Upserts without the lookups that lead nowhere.
struct CheckedUpserts {
  std::vector<const GiftUpsert*> rows;  ///< as given, or among `mended`
  std::deque<GiftUpsert> mended;
  LostLookups cleared;  ///< of each row; only new records are told
};
CheckedUpserts check_lookups(soci::session& session, Dialect dialect, std::span<const GiftUpsert> rows);

/// Which of the ids of each lead to no row.
LostLookups lost_lookups(sql::Database& database, std::span<const Associations> links);

/// Links existing records anew, in one transaction.
std::vector<RowResult> relink_gift_rows(sql::Database& database, std::span<const GiftRelink> rows);

}  // namespace giftsync::schema::sql_crm
