// daemon/sso: tries a connection for real (Spec 5.8): asks an OpenID provider for its documents over TLS, or
// looks at a SAML provider's certificate and whether its sign-in page answers. Nobody signs in and no secret
// is sent.
#pragma once

#include "daemon/settings/settings.h"
#include "daemon/sources/web_fetch.h"
#include "daemon/sso/findings.h"
#include "schema/time.h"

namespace giftsync::daemon {

Findings check_connection(const SsoSettings& sso, const SsoConnectionSettings& connection,
                          const WebFetch& fetch, schema::UtcMillis now);

}  // namespace giftsync::daemon
