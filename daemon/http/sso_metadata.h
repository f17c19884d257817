// daemon/http: GET {admin_url}/api/v1/sso/metadata/{connection}: the SAML metadata that an identity provider
// fetches (Spec 5.8). It tells nothing that is secret, so nobody is asked for a key.
#pragma once

#include <string_view>

#include "daemon/http/http_message.h"
#include "daemon/settings/settings.h"

namespace giftsync::daemon {

/// 404 for what is no SAML connection.
HttpResponse metadata_answer(const SsoSettings& sso, std::string_view connection);

}  // namespace giftsync::daemon
