// The request to the provider.
#include "daemon/identity/saml/authn_request.h"

#include <Poco/InflatingStream.h>
#include <Poco/URI.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <sstream>

#include "platform/digest.h"
#include "platform/xml.h"
#include "tests/daemon/identity/saml/test_response.h"

namespace giftsync::saml {
namespace {

using ::testing::StartsWith;

XmlElement read_request(const std::string& url) {
  std::string message;
  for (const auto& [name, value] : Poco::URI(url).getQueryParameters()) {
    if (name == "SAMLRequest") message = from_base64_text(value).value_or("");
  }
  std::istringstream in(message);
  Poco::InflatingInputStream inflating(in, -15);
  const std::string xml{std::istreambuf_iterator<char>(inflating), {}};
  const auto root = read_xml(xml);
  EXPECT_TRUE(root) << xml;
  return root.value_or(XmlElement{});
}

// SAML-22
TEST(AuthnRequest, SaysWhoAsksAndWhereToRespond) {
  const Signer signer;
  const SamlConnection connection = test_connection(signer);
  const UtcMillis now{1'763'900'000'000};
  const std::string url =
      authn_request_url(connection, {.id = "_request", .relay_state = "a b&c", .issued_at = now});
  EXPECT_THAT(url, StartsWith("https://idp.example.com/sso?tenant=1&SAMLRequest="));
  EXPECT_TRUE(url.ends_with("&RelayState=a%20b%26c")) << url;
  const XmlElement request = read_request(url);
  EXPECT_TRUE(request.is("urn:oasis:names:tc:SAML:2.0:protocol", "AuthnRequest"));
  EXPECT_EQ(request.attribute("", "ID"), "_request");
  EXPECT_EQ(request.attribute("", "Version"), "2.0");
  EXPECT_EQ(request.attribute("", "IssueInstant"), to_rfc3339(now));
  EXPECT_EQ(request.attribute("", "Destination"), "https://idp.example.com/sso?tenant=1");
  EXPECT_EQ(request.attribute("", "AssertionConsumerServiceURL"), kPostBack);
  EXPECT_EQ(request.attribute("", "ProtocolBinding"), "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST");
  EXPECT_EQ(request.attribute("", "ForceAuthn"), std::nullopt);
  ASSERT_EQ(request.children.size(), 1U);
  EXPECT_TRUE(request.children[0].is("urn:oasis:names:tc:SAML:2.0:assertion", "Issuer"));
  EXPECT_EQ(request.children[0].text, kEntityId);
}

// SAML-22
TEST(AuthnRequest, AsksForANewAuthentication) {
  SamlConnection connection = test_connection(Signer());
  connection.settings.sign_in_url = "https://idp.example.com/sso";
  const std::string url = authn_request_url(
      connection, {.id = new_request_id(), .relay_state = "r", .issued_at = {}, .force_authn = true});
  EXPECT_THAT(url, StartsWith("https://idp.example.com/sso?SAMLRequest="));
  EXPECT_EQ(read_request(url).attribute("", "ForceAuthn"), "true");
}

// SAML-22
TEST(AuthnRequest, IdsDiffer) {
  EXPECT_NE(new_request_id(), new_request_id());
  EXPECT_THAT(new_request_id(), StartsWith("_"));
  EXPECT_EQ(new_request_id().size(), 41U);
}

// SAML-18: the attempt asked for a new authentication.
TEST(AuthnRequest, AnOldAuthenticationIsRefusedWhenANewOneWasAskedFor) {
  const Signer signer;
  const TestResponse response;
  AuthnRequest request = test_request(response.now);
  const auto rule = [&](int minutes) {
    return refusing_rule(response.signed_xml(signer, "AuthnInstant=\"" + response.time(0),
                                             "AuthnInstant=\"" + response.time(minutes)),
                         test_connection(signer), response.now, request);
  };
  EXPECT_EQ(rule(-120), "");
  request.force_authn = true;
  EXPECT_EQ(rule(-120), "SAML-18");
  EXPECT_EQ(rule(0), "");
}

}  // namespace
}  // namespace giftsync::saml
