// daemon/sources: JSON as sources write it. They are not there to be told of a fault, and whatever is refused
// of a page holds up all that comes after it. So a number that is too large for us, which RFC 8259 allows, is
// the text of its digits: only whoever uses it has to know what it means. Pure.
#pragma once

#include <string_view>
#include <variant>

#include "daemon/http/strict_json.h"

namespace giftsync::daemon {

/// As read_json(), but whole numbers that do not fit in 64 bits with sign, and others that do not fit in a
/// double, are texts of what was written.
std::variant<JsonDocument, JsonFault> read_source_json(std::string_view text);

}  // namespace giftsync::daemon
