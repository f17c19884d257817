// daemon/identity: the page to which a sign-in returns (SIGN-2), for every way of signing in. Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon::identity {

/// `text` if it is a path below `base` ("/console", or "/gifts/console" where admin_url has a path) with at
/// most 500 bytes, with or without a query, else the console's first page. The path has letters, digits,
/// "-_~./", no "//" and no segment that begins with a dot; other characters are escaped, and an escape is not
/// that of a slash, backslash, dot, percent sign or control character, so that nothing that decodes it
/// reads another path. The query has visible ASCII characters except \ # " < >. There is no fragment. So no
/// link can lead a user to another site by way of the sign-in.
std::string safe_return_path(std::string_view base, std::string_view text);

}  // namespace giftsync::daemon::identity
