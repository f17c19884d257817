#include "daemon/handlers/saml_metadata_handler.h"

#include "daemon/http/problem.h"
#include "daemon/signin/sp_metadata.h"

namespace giftsync::daemon::handlers {

http::HttpResponse saml_metadata(const config::SsoSettings& sso, const http::HttpRequest&,
                                 std::string_view connection) {
  for (const config::SsoConnectionSettings& one : sso.connections) {
    if (one.name != connection || one.kind != config::SsoKind::saml) continue;
    return {200,
            {{"Content-Type", "application/samlmetadata+xml"}, {"Cache-Control", "no-cache"}},
            signin::sp_metadata(sso, one)};
  }
  return http::unknown_path();
}

}  // namespace giftsync::daemon::handlers
