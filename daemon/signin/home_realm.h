// daemon/signin: home-realm discovery (HTTP-44): finds the connection through which a user signs in, by the
// domain of their e-mail address. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::daemon::signin {

/// Null when no connection has the domain of `address`. A sub-domain is a different domain.
const config::SsoConnectionSettings* find_connection(const config::SsoSettings& sso,
                                                     std::string_view address);

}  // namespace giftsync::daemon::signin
