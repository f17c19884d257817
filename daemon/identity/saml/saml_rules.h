// daemon/identity/saml: the rules that a response must pass, for a listing of verdicts.
#pragma once

#include <array>
#include <string_view>

namespace giftsync::daemon::identity::saml {

struct SamlRule {
  std::string_view id;
  std::string_view title;
};

/// In the order in which they are checked: all rules before the one that refuses have passed.
inline constexpr std::array kSamlRules = {
    SamlRule{"SAML-1", "size, depth and form of the document"},
    SamlRule{"SAML-2", "no document type, processing instruction or comment"},
    SamlRule{"SAML-3", "a Response of SAML 2.0"},
    SamlRule{"SAML-4", "one Assertion, in its place, not encrypted"},
    SamlRule{"SAML-5", "IDs are unique"},
    SamlRule{"SAML-7", "form and algorithms of the signature"},
    SamlRule{"SAML-6", "signatures in their places"},
    SamlRule{"SAML-8", "signed by a configured, valid certificate"},
    SamlRule{"SAML-10", "only signed bytes are read"},
    SamlRule{"SAML-12", "status Success"},
    SamlRule{"SAML-13", "issuer"},
    SamlRule{"SAML-14", "destination"},
    SamlRule{"SAML-15", "bearer confirmation"},
    SamlRule{"SAML-16", "in response to our request"},
    SamlRule{"SAML-17", "conditions and audience"},
    SamlRule{"SAML-18", "time of authentication"},
    SamlRule{"SAML-20", "user id, e-mail address and name"},
    SamlRule{"SAML-21", "domain of the e-mail address"},
    SamlRule{"SAML-19", "first use of the Assertion"},
};

}  // namespace giftsync::daemon::identity::saml
