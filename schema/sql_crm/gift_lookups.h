// schema/sql_crm: the lookups of gift records. A lookup that points to a row which was deleted or merged is
// refused, as a remote CRM would do it: it is left empty and reported (design 3.2). Included by schema/'s
// .cpp files only.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "schema/crm.h"
#include "schema/sql/database.h"

namespace giftsync::schema::sql_crm {

/// Upserts without the lookups that lead nowhere.
struct CheckedUpserts {
  std::vector<const GiftUpsert*> rows;  ///< as given, or among `mended`
  std::deque<GiftUpsert> mended;
  std::vector<std::vector<GiftField>> cleared;  ///< of each row
};
CheckedUpserts check_lookups(soci::session& session, Dialect dialect, std::span<const GiftUpsert> rows);

/// Which of the ids of each lead to no row.
std::vector<std::vector<GiftField>> lost_lookups(sql::Database& database,
                                                 std::span<const Associations> links);

/// Links existing records anew, in one transaction.
std::vector<RowResult> relink_gift_rows(sql::Database& database, std::span<const GiftRelink> rows);

}  // namespace giftsync::schema::sql_crm
