// platform: the parameters of a URL's query or of a posted form (application/x-www-form-urlencoded). Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace giftsync {

/// Names and values in their order, percent-decoded; nullopt when the text is malformed. They may be no valid
/// text: see is_storable_text().
std::optional<std::vector<std::pair<std::string, std::string>>> parse_url_parameters(std::string_view text);

/// The parameters when each name is there once and all is storable text, else a clause that follows "the
/// reply".
tl::expected<std::map<std::string, std::string>, std::string> unique_url_parameters(std::string_view text);

/// The first of each name, of those that are storable text; empty when the text is malformed.
std::map<std::string, std::string> first_url_parameters(std::string_view text);

}  // namespace giftsync
