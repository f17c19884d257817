#include "schema/ids.h"

#include <algorithm>

#include "platform/text.h"

namespace giftsync {

std::optional<TransactionId> gift_number(std::string_view text) {
  constexpr std::string_view kGift = "gift";
  if (ascii_lower(text).starts_with(kGift)) text.remove_prefix(kGift.size());
  text.remove_prefix(std::min(text.find_first_not_of(" :#"), text.size()));
  const auto number = parse_number<std::int64_t>(text);
  return number && *number > 0 ? std::optional(TransactionId{*number}) : std::nullopt;
}

}  // namespace giftsync
