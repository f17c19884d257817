// daemon/signin: the SAML 2.0 metadata of the service provider, for one connection (HTTP-40): the customer's
// administrator imports it into their identity provider. Pure.
#pragma once

#include <string>

#include "daemon/config/settings.h"

namespace giftsync::signin {

/// An XML document, UTF-8.
std::string sp_metadata(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection);

}  // namespace giftsync::signin
