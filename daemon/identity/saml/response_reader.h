// daemon/identity/saml: reads a SAML response and verifies who signed it (SAML-1 to SAML-11). What it returns
// of the user was parsed from the bytes that the signature covers, and from nothing else. Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/identity/saml/saml_rules.h"
#include "platform/time.h"
#include "platform/xml.h"

namespace giftsync::saml {

struct VerifiedResponse {
  std::string signed_bytes = {};  ///< canonical XML of the Response or of the Assertion
  XmlElement assertion = {};      ///< parsed from signed_bytes
  /// The Response without its Assertion. Unless is_response_signed it is unproven: it may cause a refusal and
  /// may not say who signed in.
  XmlElement response = {};
  bool is_response_signed = false;
};

/// The document in the form field SAMLResponse: base64, white space between its lines allowed.
Outcome<std::string> decoded_response(std::string_view field);

/// `now` decides which of the connection's certificates are valid.
Outcome<VerifiedResponse> verify_response(std::string_view xml, const SamlConnection& connection,
                                          UtcMillis now);

// The places and forms that the signatures of a SAML response may have (SAML-3 to
// SAML-7), seen before any of them is verified. Pure.

struct SignedElement {
  std::vector<std::size_t> path = {};  ///< for verified_xml(): {} or the Assertion's index
  std::string id = {};
};

/// The elements of the response that have a signature, the Response before the Assertion: one or two.
Outcome<std::vector<SignedElement>> signed_elements(const XmlElement& response, bool allows_sha1);

/// The index of the one Assertion among the root's children, or the refusal by SAML-3 or SAML-4.
Outcome<std::size_t> find_assertion(const XmlElement& response);

// The one form that a signature in a SAML response may have (SAML-7). Pure.

/// Holds when `signature` (ds:Signature) refers to nothing but the element with the ID `signed_id` around
/// it, with allowed algorithms only.
Outcome<void> check_signature_form(const XmlElement& signature, std::string_view signed_id, bool allows_sha1);

}  // namespace giftsync::saml
