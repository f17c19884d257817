// daemon/identity/saml: the one form that a signature in a SAML response may have (SAML-7). Pure.
#pragma once

#include <string_view>

#include "daemon/identity/saml/saml_rules.h"
#include "platform/xml.h"

namespace giftsync::daemon::identity::saml {

/// Holds when `signature` (ds:Signature) refers to nothing but the element with the ID `signed_id` around
/// it, with allowed algorithms only.
Outcome<void> check_signature_form(const platform::XmlElement& signature, std::string_view signed_id,
                                   bool allows_sha1);

}  // namespace giftsync::daemon::identity::saml
