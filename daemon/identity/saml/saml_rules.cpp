#include "daemon/identity/saml/saml_rules.h"

#include <fstream>
#include <iterator>

#include "daemon/config/connection_urls.h"

namespace giftsync::saml {
namespace {

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

SamlConnection saml_connection(const config::SsoSettings& sso,
                               const config::SsoConnectionSettings& connection) {
  SamlConnection made{connection,
                      config::saml_entity_id(sso, connection),
                      config::post_back_url(sso, connection),
                      {content_of(connection.certificate)}};
  if (!connection.next_certificate.empty())
    made.certificates.push_back(content_of(connection.next_certificate));
  return made;
}

}  // namespace giftsync::saml
