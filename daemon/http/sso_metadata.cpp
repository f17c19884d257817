#include "daemon/http/sso_metadata.h"

#include "daemon/http/problem.h"
#include "daemon/sso/sp_metadata.h"

namespace giftsync::daemon {

HttpResponse metadata_answer(const SsoSettings& sso, std::string_view connection) {
  for (const SsoConnectionSettings& one : sso.connections) {
    if (one.name != connection || one.kind != SsoKind::saml) continue;
    HttpResponse response;
    response.headers = {{"Content-Type", "application/samlmetadata+xml"}, {"Cache-Control", "no-cache"}};
    response.body = sp_metadata(sso, one);
    return response;
  }
  return unknown_path();
}

}  // namespace giftsync::daemon
