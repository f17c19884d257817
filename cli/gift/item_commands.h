// cli: what the recipient of an item gets on its page (PAGE-16).
#pragma once

#include <set>
#include <string>
#include <vector>

#include "schema/ids.h"
#include "schema/store/store.h"

namespace giftsync::cli {

/// Items that have a list of codes, exhausted or not.
std::set<GiftId> items_with_codes(const std::vector<store::GiftCodeCounts>& counts);

/// Which of "text", "link" and "codes" the item has; empty: none.
std::vector<std::string> redemption_of(const store::GiftItem& item, const std::set<GiftId>& with_codes);

/// Those of `items` that can be sent and whose recipients get nothing.
std::vector<GiftId> items_without_redemption(const std::vector<store::GiftItem>& items,
                                             const std::set<GiftId>& with_codes);

}  // namespace giftsync::cli
