// cli: the CSV file of `item import` (OPS-21): gift items. A file with faults is refused whole.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "schema/store/gift/catalogue.h"

namespace giftsync::cli {

struct ItemCsv {
  std::vector<store::GiftItem> items;
  std::vector<std::string>
      faults;  ///< "items.csv:3: item_cost: found "abc"; allowed: ..."; use the items only if there are none
};

/// Columns in any order: gift_id, name, description, item_cost, shipping_cost, carbon_neutral_cost,
/// transaction_fee, and optionally picture, redemption_text, redemption_link, active. Costs are decimals
/// ("5.00"); an empty shipping, carbon or fee cell is 0.00. `name` is the file name for fault messages.
ItemCsv parse_item_csv(std::istream& in, const std::string& name);

}  // namespace giftsync::cli
