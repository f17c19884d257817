// daemon/identity/saml: what a sign-in needs of one SAML connection, derived from the settings (SAML-23).
#pragma once

#include <string>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::daemon::identity::saml {

struct SamlConnection {
  std::string name = {};
  std::string entity_id = {};                  ///< giftsync's own; the audience
  std::string post_back_url = {};              ///< where the provider sends the browser
  std::string sign_in_url = {};                ///< the provider's
  std::string provider_entity_id = {};         ///< empty: any, as long as all issuers of a response are equal
  std::vector<std::string> certificates = {};  ///< PEM, one or two
  bool allows_sha1 = false;
  std::string claim_user_id = {};
  std::string claim_email = {};
  std::string claim_name = {};
  std::vector<std::string> domains = {};  ///< as schema::normalized_domain() has them
};

/// Reads the certificate files, so call it when the settings are read, not at each sign-in. A file that
/// cannot be read leaves an empty certificate, which verifies nothing. `connection` is one of type saml.
SamlConnection saml_connection(const config::SsoSettings& sso,
                               const config::SsoConnectionSettings& connection);

}  // namespace giftsync::daemon::identity::saml
