// daemon/identity/saml: the rules that a response must pass (docs/design/saml.md), and the refusal by one of
// them. Pure.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/signin/sign_in_outcome.h"

namespace giftsync::saml {

using signin::Outcome;
using signin::RuleVerdict;
using signin::SignInRefusal;
using signin::VerifiedIdentity;

/// The refusal by SAML-`number`. `text` says for the admin what was found, what is allowed and what to do,
/// without a period.
template <class... Values>
tl::unexpected<SignInRefusal> refuse(int number, fmt::format_string<Values...> text, Values&&... values) {
  return signin::refuse("SAML-" + std::to_string(number), "{}.",
                        fmt::format(text, std::forward<Values>(values)...));
}

/// In the order in which they are checked: all rules before the one that refuses have passed.
inline constexpr std::array kSamlRules = {
    RuleVerdict{"SAML-1", "size, depth and form of the document"},
    RuleVerdict{"SAML-2", "no document type, processing instruction or comment"},
    RuleVerdict{"SAML-3", "a Response of SAML 2.0"},
    RuleVerdict{"SAML-4", "one Assertion, in its place, not encrypted"},
    RuleVerdict{"SAML-5", "IDs are unique"},
    RuleVerdict{"SAML-7", "form and algorithms of the signature"},
    RuleVerdict{"SAML-6", "signatures in their places"},
    RuleVerdict{"SAML-8", "signed by a configured, valid certificate"},
    RuleVerdict{"SAML-10", "only signed bytes are read"},
    RuleVerdict{"SAML-12", "status Success"},
    RuleVerdict{"SAML-13", "issuer"},
    RuleVerdict{"SAML-14", "destination"},
    RuleVerdict{"SAML-15", "bearer confirmation"},
    RuleVerdict{"SAML-16", "in response to our request"},
    RuleVerdict{"SAML-17", "conditions and audience"},
    RuleVerdict{"SAML-18", "time of authentication"},
    RuleVerdict{"SAML-20", "user id, e-mail address and name"},
    RuleVerdict{"SAML-21", "domain of the e-mail address"},
    RuleVerdict{"SAML-19", "first use of the Assertion"},
};

// Namespaces and identifiers of SAML 2.0 and XML Signature.

inline constexpr std::string_view kProtocol = "urn:oasis:names:tc:SAML:2.0:protocol";
inline constexpr std::string_view kAssertion = "urn:oasis:names:tc:SAML:2.0:assertion";
inline constexpr std::string_view kSuccess = "urn:oasis:names:tc:SAML:2.0:status:Success";
inline constexpr std::string_view kBearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
inline constexpr std::string_view kPostBinding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
inline constexpr std::string_view kTransient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
inline constexpr std::string_view kSignature = "http://www.w3.org/2000/09/xmldsig#";
inline constexpr std::string_view kEnveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
inline constexpr std::string_view kExclusiveC14n = "http://www.w3.org/2001/10/xml-exc-c14n#";

// What a sign-in needs of one SAML connection, derived from the settings (SAML-23).

struct SamlConnection {
  config::SsoConnectionSettings settings = {};
  std::string entity_id = {};                  ///< giftsync's own; the audience
  std::string post_back_url = {};              ///< where the provider sends the browser
  std::vector<std::string> certificates = {};  ///< PEM, one or two
};

/// Reads the certificate files, so call it when the settings are read, not at each sign-in. A file that
/// cannot be read leaves an empty certificate, which verifies nothing. `connection` is one of type saml.
SamlConnection saml_connection(const config::SsoSettings& sso,
                               const config::SsoConnectionSettings& connection);

}  // namespace giftsync::saml
