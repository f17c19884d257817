// tests: nlohmann's parser and writer, compiled once for all tests: each file that calls them itself would
// compile them again, which takes seconds.
#pragma once

#include <iosfwd>
#include <string_view>

#include "platform/json.h"

namespace giftsync::tests {

/// Both throw nlohmann's parse_error when `text` is no JSON.
nlohmann::json parse_json(std::string_view text);
Json parse_ordered_json(std::string_view text);

}  // namespace giftsync::tests

// How GoogleTest prints them.
namespace nlohmann {

void PrintTo(const json& value, std::ostream* out);
void PrintTo(const ordered_json& value, std::ostream* out);

}  // namespace nlohmann
