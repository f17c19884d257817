#include "cli/item_redemption.h"

namespace giftsync::cli {

std::set<schema::GiftId> items_with_codes(const std::vector<schema::store::GiftCodeCounts>& counts) {
  std::set<schema::GiftId> items;
  for (const schema::store::GiftCodeCounts& row : counts) items.insert(row.gift);
  return items;
}

std::vector<std::string> redemption_of(const schema::store::GiftItem& item,
                                       const std::set<schema::GiftId>& with_codes) {
  std::vector<std::string> parts;
  if (!item.redemption_text.empty()) parts.emplace_back("text");
  if (!item.redemption_link.empty()) parts.emplace_back("link");
  if (with_codes.contains(item.id)) parts.emplace_back("codes");
  return parts;
}

std::vector<schema::GiftId> items_without_redemption(const std::vector<schema::store::GiftItem>& items,
                                                     const std::set<schema::GiftId>& with_codes) {
  std::vector<schema::GiftId> found;
  for (const schema::store::GiftItem& item : items) {
    if (item.active && redemption_of(item, with_codes).empty()) found.push_back(item.id);
  }
  return found;
}

}  // namespace giftsync::cli
