// daemon/handlers: GET {admin_url}/api/v1/sso/metadata/{connection}: the SAML metadata that an identity
// provider fetches (HTTP-40). It contains no secret, so no key is required.
#pragma once

#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/http/http_message.h"

namespace giftsync::handlers {

/// 404 if there is no such SAML connection. Any thread.
http::HttpResponse saml_metadata(const config::SsoSettings& sso, const http::HttpRequest& request,
                                 std::string_view connection);

}  // namespace giftsync::handlers
