#include "tests/daemon/identity/saml/test_response.h"

#include <stdexcept>

#include "platform/digest.h"

namespace giftsync::saml {

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("the document does not contain " + from);
  return text.replace(at, from.size(), to);
}

std::string TestResponse::time(int minutes) const {
  return to_rfc3339(now + minutes * kMinuteMillis);
}

std::string TestResponse::assertion() const {
  const std::string claims = kClaims;
  const auto attribute = [](const std::string& name, const std::string& value) {
    return "<saml:Attribute Name=\"" + name + "\"><saml:AttributeValue>" + value +
           "</saml:AttributeValue></saml:Attribute>";
  };
  return R"(<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID=")" + assertion_id +
         R"(" Version="2.0" IssueInstant=")" + time(0) + R"("><saml:Issuer>)" + kProvider +
         R"(</saml:Issuer>[A]<saml:Subject>)"
         R"(<saml:NameID Format="urn:oasis:names:tc:SAML:1.1:nameid-format:unspecified">)" +
         user_id +
         R"(</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">)" +
         R"(<saml:SubjectConfirmationData InResponseTo="_request" NotOnOrAfter=")" + time(30) +
         R"(" Recipient=")" + kPostBack +
         R"("/></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore=")" + time(-1) +
         R"(" NotOnOrAfter=")" + time(30) + R"("><saml:AudienceRestriction><saml:Audience>)" + kEntityId +
         R"(</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant=")" +
         time(0) + R"(" SessionIndex="_s1" SessionNotOnOrAfter=")" + time(480) +
         R"("><saml:AuthnContext><saml:AuthnContextClassRef>)"
         R"(urn:oasis:names:tc:SAML:2.0:ac:classes:PasswordProtectedTransport</saml:AuthnContextClassRef>)"
         R"(</saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement>)" +
         attribute(claims + "nameidentifier", user_id) + attribute(claims + "emailaddress", email) +
         attribute(claims + "name", "Ana Lima") + "</saml:AttributeStatement></saml:Assertion>";
}

std::string TestResponse::unsigned_xml() const {
  return R"(<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" )"
         R"(xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID=")" +
         response_id + R"(" Version="2.0" IssueInstant=")" + time(0) + R"(" Destination=")" + kPostBack +
         R"(" InResponseTo="_request"><saml:Issuer>)" + kProvider +
         R"(</saml:Issuer>[R]<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/>)"
         R"(</samlp:Status>)" +
         assertion() + "</samlp:Response>";
}

std::string TestResponse::sign_places(std::string xml, const Signer& signer) const {
  SignatureTemplate of_response = signature;
  of_response.uri = "#" + response_id;
  SignatureTemplate of_assertion = signature;
  of_assertion.uri = "#" + assertion_id;
  xml = replaced(std::move(xml), "[R]", signs_response ? text_of(of_response) : "");
  xml = replaced(std::move(xml), "[A]", signs_assertion ? text_of(of_assertion) : "");
  // The Response's signature covers the Assertion's.
  if (signs_assertion) xml = sign(xml, signer, signs_response ? 1 : 0);
  if (signs_response) xml = sign(xml, signer, 0);
  return xml;
}

std::string TestResponse::signed_xml(const Signer& signer, const std::string& from,
                                     const std::string& to) const {
  return sign_places(from.empty() ? unsigned_xml() : replaced(unsigned_xml(), from, to), signer);
}

SamlConnection test_connection(const Signer& signer) {
  SamlConnection connection{
      .entity_id = kEntityId, .post_back_url = kPostBack, .certificates = {signer.certificate}};
  connection.settings.name = "acme";
  connection.settings.sign_in_url = "https://idp.example.com/sso?tenant=1";
  connection.settings.provider_entity_id = kProvider;
  connection.settings.domains = {"acme.example"};
  return connection;
}

AuthnRequest test_request(UtcMillis now) {
  return {.id = "_request", .relay_state = kRelayState, .issued_at = now - kMinuteMillis};
}

std::string refusing_rule(const std::string& xml, const SamlConnection& connection, UtcMillis now,
                          const AuthnRequest& request) {
  const auto first_use = [](const std::string&, UtcMillis) { return true; };
  const auto identity =
      complete_saml_sign_in({.saml_response = to_base64_text(xml), .relay_state = request.relay_state},
                            connection, request, first_use, now);
  if (!identity) return identity.error().rule;
  return identity->subject == "u-4711" ? "" : "signed in as " + identity->subject;
}

}  // namespace giftsync::saml
