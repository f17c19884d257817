// daemon/identity/saml: who the user of an assertion is, by the connection's claims (SAML-20, SAML-21). Pure.
#pragma once

#include "daemon/identity/saml/saml_connection.h"
#include "daemon/identity/saml/saml_rules.h"
#include "platform/xml.h"

namespace giftsync::daemon::identity::saml {

/// The identity without its times. `subject` is the assertion's Subject. Its NameID stands for the claim
/// user_id when the assertion has no such attribute and the connection asks for the claim nameidentifier,
/// which AD FS and Entra ID send as NameID only.
Outcome<VerifiedIdentity> user_claims(const platform::XmlElement& assertion,
                                      const platform::XmlElement& subject, const SamlConnection& connection);

}  // namespace giftsync::daemon::identity::saml
