#include "daemon/identity/saml/saml_connection.h"

#include <fstream>
#include <iterator>

#include "daemon/config/connection_urls.h"

namespace giftsync::daemon::identity::saml {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

SamlConnection saml_connection(const config::SsoSettings& sso,
                               const config::SsoConnectionSettings& connection) {
  SamlConnection result{.name = connection.name,
                        .entity_id = config::saml_entity_id(sso, connection),
                        .post_back_url = config::post_back_url(sso, connection),
                        .sign_in_url = connection.sign_in_url,
                        .provider_entity_id = connection.provider_entity_id,
                        .certificates = {content_of(connection.certificate)},
                        .allows_sha1 = connection.sha1,
                        .claim_user_id = connection.claim_user_id,
                        .claim_email = connection.claim_email,
                        .claim_name = connection.claim_name,
                        .domains = config::all_domains(connection)};
  if (!connection.next_certificate.empty())
    result.certificates.push_back(content_of(connection.next_certificate));
  return result;
}

}  // namespace giftsync::daemon::identity::saml
