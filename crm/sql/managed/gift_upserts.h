// crm/sql/managed: the lookups of gift records in the managed tables
// (crm/sql/reference_checks.h). Included by schema/'s .cpp files only.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "crm/sql/reference_checks.h"

namespace giftsync::crm::managed {

/// Upserts without the lookups whose targets do not exist.
struct CheckedUpserts {
  std::vector<const GiftUpsert*> rows;  ///< the input rows, or their copies in `corrected`
  std::deque<GiftUpsert> corrected;
  crm::sql_crm::MissingLookups cleared_lookups;  ///< of each row; reported only for new records
};
CheckedUpserts check_lookups(soci::session& session, sql::Dialect dialect, std::span<const GiftUpsert> rows);

}  // namespace giftsync::crm::managed
