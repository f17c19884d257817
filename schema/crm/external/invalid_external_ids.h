// schema/crm/external: rows of the gift record's table that belong to no gift.
#pragma once

#include <cstdint>

#include "schema/crm/external/external_crm.h"

namespace giftsync::schema::crm::external {

/// Those whose Transaction Id is not an integer from 1 to kMaxId: no other query returns them.
std::int64_t count_invalid_transaction_ids(const ExternalCrmOptions& options);

}  // namespace giftsync::schema::crm::external
