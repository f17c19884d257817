// daemon/identity/saml: the request with which giftsync sends a browser to a SAML provider (SAML-22), by the
// HTTP-Redirect binding. It is not signed: giftsync has no key of its own. Pure.
#pragma once

#include <string>

#include "daemon/identity/saml/saml_rules.h"
#include "platform/time.h"

namespace giftsync::saml {

/// Kept with the attempt: the response is compared with it.
struct AuthnRequest {
  std::string id = {};           ///< from new_request_id()
  std::string relay_state = {};  ///< at most 80 bytes (SAML bindings 3.4.3)
  UtcMillis issued_at = {};
  bool force_authn = false;  ///< the provider must authenticate the user again
};

/// An unguessable xs:ID.
std::string new_request_id();

/// The address to redirect the browser to: the provider's sign-in page with the deflated request.
std::string authn_request_url(const SamlConnection& connection, const AuthnRequest& request);

}  // namespace giftsync::saml
