// daemon/sources: parses JSON of sources. A source cannot correct its JSON on request, and a refused page
// delays all later ones. So a number beyond the range of giftsync, which RFC 8259 allows, becomes the text of
// its digits (SRC-10). Pure.
#pragma once

#include <string_view>
#include <variant>

#include "platform/strict_json.h"

namespace giftsync::daemon::sources {

/// Like parse_json(), but whole numbers that do not fit signed 64 bits, and other numbers that do not fit a
/// double, become texts as written.
std::variant<platform::JsonDocument, platform::JsonError> parse_source_json(std::string_view text);

}  // namespace giftsync::daemon::sources
