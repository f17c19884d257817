// daemon/identity/saml: namespaces and identifiers of SAML 2.0 and XML Signature.
#pragma once

#include <string_view>

namespace giftsync::daemon::identity::saml {

inline constexpr std::string_view kProtocol = "urn:oasis:names:tc:SAML:2.0:protocol";
inline constexpr std::string_view kAssertion = "urn:oasis:names:tc:SAML:2.0:assertion";
inline constexpr std::string_view kSuccess = "urn:oasis:names:tc:SAML:2.0:status:Success";
inline constexpr std::string_view kBearer = "urn:oasis:names:tc:SAML:2.0:cm:bearer";
inline constexpr std::string_view kPostBinding = "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST";
inline constexpr std::string_view kTransient = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";
inline constexpr std::string_view kSignature = "http://www.w3.org/2000/09/xmldsig#";
inline constexpr std::string_view kEnveloped = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";
inline constexpr std::string_view kExclusiveC14n = "http://www.w3.org/2001/10/xml-exc-c14n#";

}  // namespace giftsync::daemon::identity::saml
