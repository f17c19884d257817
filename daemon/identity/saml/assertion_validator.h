// daemon/identity/saml: whether a verified response lets its user sign in here and now (SAML-12 to SAML-18,
// SAML-20 and SAML-21), and who the user is. Pure; any thread.
#pragma once

#include <string>

#include "daemon/identity/saml/authn_request.h"
#include "daemon/identity/saml/response_reader.h"
#include "daemon/identity/saml/saml_rules.h"
#include "platform/time.h"

namespace giftsync::saml {

struct ValidAssertion {
  VerifiedIdentity identity = {};
  std::string id = {};  ///< to be used once
  UtcMillis usable_until = {};
};

/// Clocks of provider and daemon may differ by this much.
inline constexpr std::int64_t kClockSkewMillis = 3 * kMinuteMillis;

Outcome<ValidAssertion> validate_assertion(const VerifiedResponse& verified, const SamlConnection& connection,
                                           const AuthnRequest& request, UtcMillis now);

}  // namespace giftsync::saml
