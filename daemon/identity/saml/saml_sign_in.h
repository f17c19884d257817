// daemon/identity/saml: the end of a sign-in through a SAML provider, when the browser posts the provider's
// response to the post-back URL (SAML-24). No HTTP, no store: both are the caller's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/identity/saml/assertion_validator.h"
#include "daemon/identity/saml/saml_rules.h"
#include "platform/time.h"

namespace giftsync::saml {

/// The posted form's fields, percent-decoded; empty where missing.
struct SamlForm {
  std::string saml_response = {};
  std::string relay_state = {};
};

/// Stores the id of an assertion of this connection until `until` and returns true, or returns false when it
/// was stored already: one atomic insert, since two daemons may get the same response.
using ClaimAssertion = std::function<bool(const std::string& assertion_id, UtcMillis until)>;

/// The user, or why not. `request` is that of the pending attempt of this connection that form.relay_state
/// names; without one the refusal offers the connection (SIGN-9). `claim` is called last and only when all
/// else is right. Throws what `claim` throws.
Outcome<VerifiedIdentity> complete_saml_sign_in(const SamlForm& form, const SamlConnection& connection,
                                                const std::optional<AuthnRequest>& request,
                                                const ClaimAssertion& claim, UtcMillis now);

}  // namespace giftsync::saml
