// daemon/cli: the file of `item import` (design 5): gift items as CSV, read whole or refused with every
// fault.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "schema/store/catalogue.h"

namespace giftsync::daemon {

struct ItemFile {
  std::vector<schema::GiftItem> items;
  std::vector<std::string>
      faults;  ///< "items.csv:3: item_cost: found "abc"; allowed: ..."; items count only without any
};

/// Columns in any order: gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost,
/// transaction_fee, and optionally picture, redemption_text, redemption_link, active. Costs are decimals
/// ("5.00"); an empty shipping, carbon or fee cell is 0.00. `name` is the file's, for faults.
ItemFile read_item_file(std::istream& in, const std::string& name);

}  // namespace giftsync::daemon
