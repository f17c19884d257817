// schema/foreign_crm: rows of the gift record's table that stand for no gift.
#pragma once

#include <cstdint>

#include "schema/foreign_crm/foreign_crm.h"

namespace giftsync::schema {

/// Those whose Transaction Id is not a whole number from 1 to kMaxId: nothing else ever meets them.
std::int64_t count_gifts_without_id(const ForeignCrmOptions& options);

}  // namespace giftsync::schema
