// daemon/identity/saml: why a sign-in through a SAML provider is refused. Pure.
#pragma once

#include <string>
#include <utility>

namespace giftsync::daemon::identity::saml {

struct SamlRefusal {
  std::string rule = {};     ///< of docs/design/saml.md: "SAML-6"
  std::string message = {};  ///< for the admin: what was found, what is allowed, what to do; without a period
  /// The provider began this sign-in itself (SAML-16). Nothing of it counts; a sign-in that giftsync begins
  /// will do.
  bool is_unsolicited = false;
};

/// SAML-`number`.
inline SamlRefusal refusal(int number, std::string message) {
  return {.rule = "SAML-" + std::to_string(number), .message = std::move(message)};
}

}  // namespace giftsync::daemon::identity::saml
