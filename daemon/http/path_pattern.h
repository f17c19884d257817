// daemon/http: the patterns of tables of routes. Pure.
#pragma once

#include <optional>
#include <string_view>

namespace giftsync::daemon::http {

/// The part of the path in place of {name}, which is one segment, or of {name...}, which is the rest; empty
/// for a pattern without braces. nullopt when the path does not match.
std::optional<std::string_view> match_pattern(std::string_view pattern, std::string_view path);

}  // namespace giftsync::daemon::http
