// daemon/signin: checks a connection against the provider (HTTP-46): fetches an OpenID provider's documents
// over TLS, or checks a SAML provider's certificate and whether its sign-in page responds. It signs no user
// in and sends no secret.
#pragma once

#include "daemon/config/settings.h"
#include "daemon/signin/check_report.h"
#include "platform/http_client.h"
#include "platform/time.h"

namespace giftsync::daemon::signin {

CheckReport check_connection(const config::SsoSettings& sso, const config::SsoConnectionSettings& connection,
                             const platform::HttpGet& fetch, platform::UtcMillis now);

}  // namespace giftsync::daemon::signin
