// cli: gift records and costs as JSON.
#pragma once

#include "cli/json_array_writer.h"
#include "schema/gift_record.h"
#include "schema/store/catalogue.h"

namespace giftsync::cli {

/// Every field of the gift record in the order of SYNC-3, by its API name without prefix and suffix: times
/// RFC 3339 UTC, money as decimal text, ids as numbers, absent as null.
Json gift_record_json(const schema::GiftRecord& record);

/// The costs of a gift as decimal texts.
Json costs_json(const schema::store::GiftCosts& costs);

}  // namespace giftsync::cli
