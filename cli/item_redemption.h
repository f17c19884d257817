// cli: what the recipient of an item gets on its page (PAGE-16).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// Items that have a list of codes, exhausted or not.
std::set<schema::GiftId> items_with_codes(const std::vector<schema::store::GiftCodeCounts>& counts);

/// Of "text", "link" and "codes"; empty: nothing.
std::vector<std::string> redemption_of(const schema::store::GiftItem& item,
                                       const std::set<schema::GiftId>& with_codes);

/// Those of `items` that can be sent and whose recipients get nothing.
std::vector<schema::GiftId> items_without_redemption(const std::vector<schema::store::GiftItem>& items,
                                                     const std::set<schema::GiftId>& with_codes);

}  // namespace giftsync::cli
