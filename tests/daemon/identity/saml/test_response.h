// Responses of an invented provider at https://idp.example.com to the connection acme, in parts that a test
// can replace.
#pragma once

#include <string>

#include "daemon/identity/saml/saml_rules.h"
#include "daemon/identity/saml/saml_sign_in.h"
#include "platform/clock.h"
#include "platform/time.h"
#include "tests/daemon/identity/saml/document_signer.h"

namespace giftsync::saml {

inline constexpr const char* kPostBack = "https://login.example.com/login/callback?connection=acme";
inline constexpr const char* kEntityId = "urn:giftsync:login.example.com:acme";
inline constexpr const char* kProvider = "https://idp.example.com/metadata";
inline constexpr const char* kClaims = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/";
inline constexpr const char* kRelayState = "the-relay-state-of-this-attempt";

/// `text` with the first `from` replaced; throws when there is none.
std::string replaced(std::string text, const std::string& from, const std::string& to);

struct TestResponse {
  UtcMillis now = system_now();
  std::string response_id = "_r1";
  std::string assertion_id = "_a1";
  bool signs_response = false;
  bool signs_assertion = true;
  SignatureTemplate signature = {};  ///< its URI is set for each element
  std::string user_id = "u-4711";
  std::string email = "ana@acme.example";

  /// `minutes` from now on, as in a document.
  std::string time(int minutes) const;
  /// Without signatures; "[R]" and "[A]" are the places of those.
  std::string assertion() const;
  std::string unsigned_xml() const;
  /// Signed as signs_response and signs_assertion say. `change` of the unsigned text comes first.
  std::string signed_xml(const Signer& signer, const std::string& from = "",
                         const std::string& to = "") const;
  /// `xml`, with places of signatures, is signed.
  std::string sign_places(std::string xml, const Signer& signer) const;
};

/// The connection that trusts `signer`.
SamlConnection test_connection(const Signer& signer);
/// The request that TestResponse responds to, sent a minute ago.
AuthnRequest test_request(UtcMillis now);

/// The rule that refuses the document as a posted form; empty when it signs in as u-4711.
std::string refusing_rule(const std::string& xml, const SamlConnection& connection, UtcMillis now,
                          const AuthnRequest& request);

}  // namespace giftsync::saml
