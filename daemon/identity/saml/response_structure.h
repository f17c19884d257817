// daemon/identity/saml: the places and forms that the signatures of a SAML response may have (SAML-3 to
// SAML-7), seen before any of them is verified. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "daemon/identity/saml/saml_rules.h"
#include "platform/xml.h"

namespace giftsync::daemon::identity::saml {

struct SignedElement {
  std::vector<std::size_t> path = {};  ///< for platform::verified_xml(): {} or the Assertion's index
  std::string id = {};
};

/// The elements of the response that have a signature, the Response before the Assertion: one or two.
Outcome<std::vector<SignedElement>> signed_elements(const platform::XmlElement& response, bool allows_sha1);

/// The index of the one Assertion among the root's children, or the refusal by SAML-3 or SAML-4.
Outcome<std::size_t> find_assertion(const platform::XmlElement& response);

}  // namespace giftsync::daemon::identity::saml
