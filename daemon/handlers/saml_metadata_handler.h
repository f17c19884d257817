// daemon/handlers: GET {admin_url}/api/v1/sso/metadata/{connection}: the SAML metadata that an identity
// provider fetches (HTTP-40). It contains no secret, so no key is required.
#pragma once

#include <string_view>

#include "daemon/config/settings.h"
#include "daemon/http/http_message.h"

namespace giftsync::daemon::handlers {

/// Any thread.
class SamlMetadataHandler {
 public:
  /// `sso` must outlive it.
  explicit SamlMetadataHandler(const config::SsoSettings& sso) : sso_(sso) {}

  /// 404 if there is no such SAML connection.
  http::HttpResponse handle(const http::HttpRequest& request, std::string_view connection) const;

 private:
  const config::SsoSettings& sso_;
};

}  // namespace giftsync::daemon::handlers
