// daemon/content: HTML escaping. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon::content {

/// For text and for attributes in double quotes. Not the template library's escaping: it writes &apos;, which
/// old mail programs show literally.
std::string html_escaped(std::string_view text);

}  // namespace giftsync::daemon::content
