// schema: the number of a gift as people write it.
#pragma once

#include <optional>
#include <string_view>

#include "schema/ids.h"

namespace giftsync::schema {

/// 17 of "17", "0017", "#17", "gift 17", "gift:17" and "Gift: #17"; nothing of other texts (CON-47).
std::optional<TransactionId> gift_number(std::string_view text);

}  // namespace giftsync::schema
