// daemon/signin: finds connections: by name, and by the domain of a user's e-mail address (home-realm
// discovery, HTTP-44). Pure.
#pragma once

#include <string_view>

#include "daemon/config/settings.h"

namespace giftsync::daemon::signin {

/// Null when there is none.
const config::SsoConnectionSettings* find_by_name(const config::SsoSettings& sso, std::string_view name);

/// Whether the domain of `address` is one of the connection's. A sub-domain is a different domain.
bool is_in_domains(const config::SsoConnectionSettings& connection, std::string_view address);

/// The connection through which the user with this address signs in. Null when no connection has the domain
/// of `address`.
const config::SsoConnectionSettings* find_connection(const config::SsoSettings& sso,
                                                     std::string_view address);

}  // namespace giftsync::daemon::signin
