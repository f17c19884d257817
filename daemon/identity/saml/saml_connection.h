// daemon/identity/saml: what a sign-in needs of one SAML connection, derived from the settings (SAML-23).
#pragma once

#include <string>
#include <vector>

#include "daemon/config/settings.h"

namespace giftsync::daemon::identity::saml {

struct SamlConnection {
  config::SsoConnectionSettings settings = {};
  std::string entity_id = {};                  ///< giftsync's own; the audience
  std::string post_back_url = {};              ///< where the provider sends the browser
  std::vector<std::string> certificates = {};  ///< PEM, one or two
};

/// Reads the certificate files, so call it when the settings are read, not at each sign-in. A file that
/// cannot be read leaves an empty certificate, which verifies nothing. `connection` is one of type saml.
SamlConnection saml_connection(const config::SsoSettings& sso,
                               const config::SsoConnectionSettings& connection);

}  // namespace giftsync::daemon::identity::saml
