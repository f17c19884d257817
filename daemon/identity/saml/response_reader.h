// daemon/identity/saml: reads a SAML response and verifies who signed it (SAML-1 to SAML-11). What it returns
// of the user was parsed from the bytes that the signature covers, and from nothing else. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/identity/saml/saml_connection.h"
#include "daemon/identity/saml/saml_rules.h"
#include "platform/time.h"
#include "platform/xml.h"

namespace giftsync::daemon::identity::saml {

struct VerifiedResponse {
  std::string signed_bytes = {};        ///< canonical XML of the Response or of the Assertion
  platform::XmlElement assertion = {};  ///< parsed from signed_bytes
  /// The Response without its Assertion. Unless is_response_signed it is unproven: it may cause a refusal and
  /// may not say who signed in.
  platform::XmlElement response = {};
  bool is_response_signed = false;
};

/// The document in the form field SAMLResponse: base64, white space between its lines allowed.
Outcome<std::string> decoded_response(std::string_view field);

/// `now` decides which of the connection's certificates are valid.
Outcome<VerifiedResponse> verify_response(std::string_view xml, const SamlConnection& connection,
                                          platform::UtcMillis now);

}  // namespace giftsync::daemon::identity::saml
