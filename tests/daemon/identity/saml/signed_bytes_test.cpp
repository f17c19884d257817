// What libxmlsec verifies by itself, and that nothing but the verified bytes is read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/identity/saml/response_reader.h"
#include "platform/xml.h"
#include "tests/daemon/identity/saml/test_response.h"

namespace giftsync::saml {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SignedBytesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { signer_ = std::make_shared<Signer>(); }
  static void TearDownTestSuite() { signer_.reset(); }

  /// Whether libxmlsec alone verifies the document's assertion, the second element of the Response.
  bool verifies(const std::string& xml, bool allows_sha1 = false) const {
    const std::vector<std::size_t> path = {2};
    return verified_xml(xml, path, {{signer_->certificate}, allows_sha1}).has_value();
  }
  std::string with(SignatureTemplate signature) const {
    TestResponse response = response_;
    response.signature = std::move(signature);
    return response.signed_xml(*signer_);
  }

  static inline std::shared_ptr<Signer> signer_;
  TestResponse response_;
};

constexpr const char* kEnvelopedTransform =
    R"(<ds:Transform Algorithm="http://www.w3.org/2000/09/xmldsig#enveloped-signature"/>)";

// SAML-9: each of these verifies where libxmlsec is used as it comes.
TEST_F(SignedBytesTest, LibxmlsecIsClosedByItself) {
  EXPECT_TRUE(verifies(response_.signed_xml(*signer_)));
  EXPECT_FALSE(verifies(response_.signed_xml(Signer()))) << "another key";
  const std::string xpath = std::string(kEnvelopedTransform) +
                            R"(<ds:Transform Algorithm="http://www.w3.org/TR/1999/REC-xpath-19991116">)"
                            R"(<ds:XPath>true()</ds:XPath></ds:Transform>)";
  EXPECT_FALSE(verifies(with({.transforms = xpath}))) << "XPath";
  const std::string inclusive = "http://www.w3.org/TR/2001/REC-xml-c14n-20010315";
  EXPECT_FALSE(verifies(with({.canonicalization = inclusive}))) << "another canonicalization";
  const std::string xmldsig = "http://www.w3.org/2000/09/xmldsig#";
  const std::string sha1 = with({.method = xmldsig + "rsa-sha1", .digest = xmldsig + "sha1"});
  EXPECT_FALSE(verifies(sha1));
  EXPECT_TRUE(verifies(sha1, true));
  EXPECT_FALSE(verifies(with({.method = "http://www.w3.org/2001/04/xmldsig-more#rsa-md5"}), true));
}

// SAML-9: references to what is not the signed element.
TEST_F(SignedBytesTest, OtherReferencesCannotBeResolved) {
  const auto referring = [&](const std::string& uri,
                             const std::string& transforms = SignatureTemplate().transforms) {
    std::string xml = replaced(response_.unsigned_xml(), "[R]", "");
    return sign(replaced(xml, "[A]", text_of({.uri = uri, .transforms = transforms})), *signer_);
  };
  EXPECT_TRUE(verifies(referring("#_a1")));
  EXPECT_FALSE(verifies(referring("#_r1"))) << "the Response, which has an ID as well";
  EXPECT_FALSE(verifies(referring("file:///etc/passwd", ""))) << "a file";
}

// SAML-10
TEST_F(SignedBytesTest, OnlyTheSignedPartIsRead) {
  const SamlConnection connection = test_connection(*signer_);
  const std::string xml = replaced(response_.signed_xml(*signer_), "</samlp:Response>",
                                   "<samlp:Extensions><a>unsigned</a></samlp:Extensions></samlp:Response>");
  const auto verified = verify_response(xml, connection, response_.now);
  ASSERT_TRUE(verified) << verified.error().text;
  EXPECT_FALSE(verified->is_response_signed);
  EXPECT_THAT(verified->signed_bytes, StartsWith("<saml:Assertion"));
  EXPECT_THAT(verified->signed_bytes, Not(HasSubstr("unsigned")));
  EXPECT_THAT(verified->signed_bytes, Not(HasSubstr("Signature")))
      << "the enveloped signature is no part of them";
  EXPECT_EQ(verified->assertion.attribute("", "ID"), "_a1");
  for (const XmlElement& child : verified->response.children) EXPECT_NE(child.name, "Assertion");
}

// SAML-10: of two signatures the outer one says what is read.
TEST_F(SignedBytesTest, ASignedResponseIsReadWhole) {
  response_.signs_response = true;
  const auto verified =
      verify_response(response_.signed_xml(*signer_), test_connection(*signer_), response_.now);
  ASSERT_TRUE(verified) << verified.error().text;
  EXPECT_TRUE(verified->is_response_signed);
  EXPECT_THAT(verified->signed_bytes, StartsWith("<samlp:Response"));
  EXPECT_EQ(verified->assertion.attribute("", "ID"), "_a1");
}

// SAML-6: a genuine signature does not make up for one that is not.
TEST_F(SignedBytesTest, EverySignatureMustBeVerified) {
  response_.signs_response = true;
  std::string xml = replaced(response_.unsigned_xml(), "[R]", text_of({.uri = "#_r1"}));
  xml = sign(replaced(xml, "[A]", text_of({.uri = "#_a1"})), Signer(), 1);
  const auto verified = verify_response(sign(xml, *signer_, 0), test_connection(*signer_), response_.now);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().rule, "SAML-8");
  EXPECT_THAT(verified.error().text, HasSubstr("the Assertion"));
}

// SAML-14
TEST_F(SignedBytesTest, ASignedResponseNeedsADestination) {
  const std::string destination = std::string(" Destination=\"") + kPostBack + "\"";
  EXPECT_EQ(refusing_rule(response_.signed_xml(*signer_, destination, ""), test_connection(*signer_),
                          response_.now, test_request(response_.now)),
            "");
  response_.signs_response = true;
  EXPECT_EQ(refusing_rule(response_.signed_xml(*signer_, destination, ""), test_connection(*signer_),
                          response_.now, test_request(response_.now)),
            "SAML-14");
}

// SAML-4: what an Advice contains is someone else's.
TEST_F(SignedBytesTest, AnAdviceIsNeitherCountedNorRead) {
  TestResponse other = response_;
  other.assertion_id = "_advice";
  other.user_id = "u-1";
  const std::string advice =
      "</saml:Conditions><saml:Advice>" + replaced(other.assertion(), "[A]", "") + "</saml:Advice>";
  EXPECT_EQ(refusing_rule(response_.signed_xml(*signer_, "</saml:Conditions>", advice),
                          test_connection(*signer_), response_.now, test_request(response_.now)),
            "");
}

// SAML-1
TEST(DecodedResponse, IsBase64InLines) {
  EXPECT_EQ(decoded_response("PGE+\r\nPC9hPg==").value_or(""), "<a></a>");
  EXPECT_EQ(decoded_response("PGE-").error().rule, "SAML-1");
  EXPECT_EQ(decoded_response("").error().rule, "SAML-1");
  EXPECT_EQ(decoded_response(std::string(300'000, 'A')).error().rule, "SAML-1");
}

}  // namespace
}  // namespace giftsync::saml
