// daemon/identity: the page to which a sign-in returns (SIGN-2). Pure.
#pragma once

#include <string>
#include <string_view>

namespace giftsync::daemon::identity {

/// `text` if it is a path below `base` ("/console", or "/gifts/console" where admin_url has a path) with at
/// most 500 bytes, with or without a query, else the console's first page. So no link can lead a user to
/// another site by way of the sign-in.
std::string safe_return_path(std::string_view base, std::string_view text);

}  // namespace giftsync::daemon::identity
