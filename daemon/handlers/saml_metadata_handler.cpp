#include "daemon/handlers/saml_metadata_handler.h"

#include "daemon/http/problem.h"
#include "daemon/signin/sp_metadata.h"

namespace giftsync::daemon::handlers {

http::HttpResponse SamlMetadataHandler::handle(const http::HttpRequest&, std::string_view connection) const {
  for (const config::SsoConnectionSettings& one : sso_.connections) {
    if (one.name != connection || one.kind != config::SsoKind::saml) continue;
    http::HttpResponse response;
    response.headers = {{"Content-Type", "application/samlmetadata+xml"}, {"Cache-Control", "no-cache"}};
    response.body = signin::sp_metadata(sso_, one);
    return response;
  }
  return http::unknown_path();
}

}  // namespace giftsync::daemon::handlers
