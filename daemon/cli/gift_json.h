// daemon/cli: gift records and what belongs to them as JSON.
#pragma once

#include "daemon/cli/json_list.h"
#include "schema/gift_record.h"
#include "schema/store/catalogue.h"

namespace giftsync::daemon {

/// Every field of Spec 2.5 in its order, named by its API name without prefix and suffix: times RFC 3339 UTC,
/// money as decimal text, ids as numbers, absent as null.
Json gift_record_json(const schema::GiftRecord& record);

/// What a gift costs, as decimal text.
Json costs_json(const schema::GiftCosts& costs);

}  // namespace giftsync::daemon
