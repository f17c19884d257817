// daemon/pages: text as HTML. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon {

/// For text and for attributes in double quotes. Not the template library's: it writes &apos;, which old mail
/// programs show as it is.
std::string html_escaped(std::string_view text);

}  // namespace giftsync::daemon
