// daemon/sso: the SAML 2.0 metadata of the service provider, for one connection (Spec 5.8): what the
// customer's administrator feeds to their identity provider. Pure.
#pragma once

#include <string>

#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// An XML document, UTF-8.
std::string sp_metadata(const SsoSettings& sso, const SsoConnectionSettings& connection);

}  // namespace giftsync::daemon
