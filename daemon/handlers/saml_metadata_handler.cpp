#include "daemon/handlers/saml_metadata_handler.h"

#include "daemon/http/problem.h"
#include "daemon/signin/home_realm.h"
#include "daemon/signin/sp_metadata.h"

namespace giftsync::handlers {

http::HttpResponse saml_metadata(const config::SsoSettings& sso, const http::HttpRequest&,
                                 std::string_view connection) {
  const config::SsoConnectionSettings* settings = signin::find_by_name(sso, connection);
  if (settings == nullptr || settings->kind != config::SsoKind::saml) return http::unknown_path();
  return {200,
          {{"Content-Type", "application/samlmetadata+xml"}, {"Cache-Control", "no-cache"}},
          signin::sp_metadata(sso, *settings)};
}

}  // namespace giftsync::handlers
