// daemon/identity/saml: the end of a sign-in through a SAML provider, when the browser posts the provider's
// response to the post-back URL (SAML-24). No HTTP, no store: both are the caller's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/identity/saml/authn_request.h"
#include "daemon/identity/saml/response_reader.h"
#include "daemon/identity/saml/saml_rules.h"
#include "platform/text.h"
#include "platform/time.h"
#include "platform/xml.h"

namespace giftsync::saml {

// Whether a verified response lets its user sign in here and now (SAML-12 to SAML-18,
// SAML-20 and SAML-21), and who the user is. Pure; any thread.

struct ValidAssertion {
  VerifiedIdentity identity = {};
  std::string id = {};  ///< to be used once
  UtcMillis usable_until = {};
};

/// Clocks of provider and daemon may differ by this much.
inline constexpr std::int64_t kClockSkewMillis = 3 * kMinuteMillis;

Outcome<ValidAssertion> validate_assertion(const VerifiedResponse& verified, const SamlConnection& connection,
                                           const AuthnRequest& request, UtcMillis now);

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

// Reads parts of SAML elements. Pure.

/// The direct children with this name in the assertion's namespace.
inline std::vector<const XmlElement*> children_of(const XmlElement& element, std::string_view name,
                                                  std::string_view name_space = kAssertion) {
  std::vector<const XmlElement*> found;
  for (const XmlElement& child : element.children) {
    if (child.is(name_space, name)) found.push_back(&child);
  }
  return found;
}

/// Null unless there is exactly one.
inline const XmlElement* only_child(const XmlElement& element, std::string_view name,
                                    std::string_view name_space = kAssertion) {
  const auto found = children_of(element, name, name_space);
  return found.size() == 1 ? found.front() : nullptr;
}

inline std::string trimmed_text(const XmlElement& element) {
  return std::string(trimmed(element.text));
}

inline std::string attribute_text(const XmlElement& element, std::string_view name) {
  return std::string(element.attribute("", name).value_or(""));
}

/// A time in an attribute: absent, a time, or a text that is none.
struct TimeAttribute {
  bool is_present = false;
  std::optional<UtcMillis> time = {};
  bool is_faulty() const { return is_present && !time; }
};
inline TimeAttribute time_attribute(const XmlElement& element, std::string_view name) {
  const auto text = element.attribute("", name);
  return {text.has_value(), text ? from_rfc3339(*text) : std::nullopt};
}

}  // namespace giftsync::saml
