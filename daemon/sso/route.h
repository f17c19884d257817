// daemon/sso: home-realm discovery (Spec 5.8): which connection a user signs in through, by the domain of
// their e-mail address. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// The domains that lead to a connection: its own, and a directory's.
std::vector<std::string> domains_of(const SsoConnectionSettings& connection);

/// A domain in the one form by which domains compare: lower case, ASCII. Empty when it is none.
std::string domain_key(std::string_view domain);

/// Null when no connection has the domain of `address`. A sub-domain is a domain of its own.
const SsoConnectionSettings* route(const SsoSettings& sso, std::string_view address);

}  // namespace giftsync::daemon
