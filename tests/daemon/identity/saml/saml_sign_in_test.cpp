// The end of a sign-in: what of the posted form, the pending attempt and the store decides.
#include "daemon/identity/saml/saml_sign_in.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "platform/digest.h"
#include "tests/daemon/identity/saml/test_response.h"

namespace giftsync::saml {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SamlSignInTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { signer_ = std::make_shared<Signer>(); }
  static void TearDownTestSuite() { signer_.reset(); }

  tl::expected<VerifiedIdentity, SignInRefusal> complete(const std::string& xml) {
    return complete_saml_sign_in(
        {to_base64_text(xml), relay_state_}, connection_, request_,
        [this](const std::string& id, UtcMillis until) {
          last_until_ = until;
          return seen_.insert(id).second;
        },
        response_.now);
  }

  static inline std::shared_ptr<Signer> signer_;
  TestResponse response_;
  SamlConnection connection_ = test_connection(*signer_);
  std::optional<AuthnRequest> request_ = test_request(response_.now);
  std::string relay_state_ = kRelayState;
  std::set<std::string> seen_;
  UtcMillis last_until_;
};

// SAML-24
TEST_F(SamlSignInTest, TheUserOfAGenuineResponseIsReturned) {
  const auto identity = complete(response_.signed_xml(*signer_));
  ASSERT_TRUE(identity) << identity.error().rule << ": " << identity.error().text;
  EXPECT_EQ(identity->subject, "u-4711");
  EXPECT_EQ(identity->address, "ana@acme.example");
  EXPECT_EQ(identity->name, "Ana Lima");
  EXPECT_EQ(identity->connection, "acme");
  EXPECT_THAT(seen_, ElementsAre("_a1"));
  EXPECT_EQ(identity->authenticated_at, response_.now);
  EXPECT_EQ(identity->session_until, response_.now + 480 * kMinuteMillis);
  EXPECT_EQ(last_until_, response_.now + 33 * kMinuteMillis) << "NotOnOrAfter and the skew";
}

// READ-2
TEST_F(SamlSignInTest, AByteOrderMarkBeforeTheResponseIsIgnored) {
  EXPECT_TRUE(complete("\xEF\xBB\xBF" + response_.signed_xml(*signer_)));
}

// SAML-19
TEST_F(SamlSignInTest, AnAssertionCountsOnce) {
  const std::string xml = response_.signed_xml(*signer_);
  EXPECT_TRUE(complete(xml));
  const auto again = complete(xml);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().rule, "SAML-19");
  EXPECT_THAT(again.error().text, HasSubstr("_a1"));
}

// SAML-19, SAML-24
TEST_F(SamlSignInTest, ARefusedResponseUsesNothingUp) {
  EXPECT_FALSE(complete(response_.signed_xml(Signer())));
  EXPECT_FALSE(complete(response_.signed_xml(*signer_, "ana@acme.example", "ana@other.example")));
  EXPECT_THAT(seen_, IsEmpty());
}

// SAML-25
TEST_F(SamlSignInTest, GroupsAreThoseOfTheSettingThatTheAttributesName) {
  connection_.settings.groups = {{"Approvers", "approver"}, {"Admins", "admin"}};
  const auto groups = [this](const std::string& attributes) {
    const auto identity = complete(response_.signed_xml(*signer_, "<saml:AttributeStatement>",
                                                        "<saml:AttributeStatement>" + attributes));
    seen_.clear();
    if (!identity) return identity.error().rule;
    std::string text;
    for (const std::string& group : identity->groups) text += group + " ";
    return text;
  };
  const auto attribute = [](const std::string& name, const std::vector<std::string>& values) {
    std::string xml = "<saml:Attribute Name=\"" + name + "\">";
    for (const std::string& value : values) xml += "<saml:AttributeValue>" + value + "</saml:AttributeValue>";
    return xml + "</saml:Attribute>";
  };
  EXPECT_EQ(groups(""), "");
  EXPECT_EQ(groups(attribute("groups", {"Sales", " Admins\n", "Approvers"})), "Approvers Admins ");
  EXPECT_EQ(groups(attribute("groups", {"Admins"}) + attribute("groups", {"Approvers"})), "Approvers Admins ")
      << "one attribute for each group";
  EXPECT_EQ(groups(attribute("member", {"Admins"}) + attribute("groups", {"admins"})), "");
  EXPECT_EQ(groups(attribute("groups", {"<saml:b>Admins</saml:b>"})), "SAML-25");
  const std::string link =
      attribute("http://schemas.microsoft.com/claims/groups.link", {"https://graph.example.com/"});
  EXPECT_EQ(groups(link), "SAML-25") << "too many groups";
  connection_.settings.groups_claim = "member";
  EXPECT_EQ(groups(attribute("member", {"Admins"})), "Admins ");
  connection_.settings.groups.clear();
  EXPECT_EQ(groups(link), "") << "no group counts";
}

// SAML-16
TEST_F(SamlSignInTest, WithoutAPendingAttemptNothingOfTheResponseCounts) {
  const std::string xml = response_.signed_xml(*signer_);
  const auto expect_unsolicited = [&](const char* why) {
    const auto identity = complete(xml);
    ASSERT_FALSE(identity) << why;
    EXPECT_EQ(identity.error().rule, "SAML-16") << why;
    EXPECT_EQ(identity.error().offered_connection, "acme") << why;
  };
  relay_state_ = "another";
  expect_unsolicited("another RelayState");
  relay_state_ = "";
  request_->relay_state = "";
  expect_unsolicited("two empty RelayStates are equal");
  request_.reset();
  expect_unsolicited("no attempt");
  EXPECT_THAT(seen_, IsEmpty());
}

// SAML-16
TEST_F(SamlSignInTest, AResponseToAnotherRequestIsNoReasonToBeginAgain) {
  const auto identity = complete(response_.signed_xml(*signer_, R"(InResponseTo="_request"><saml:Issuer)",
                                                      R"(InResponseTo="_other"><saml:Issuer)"));
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().rule, "SAML-16");
  EXPECT_EQ(identity.error().offered_connection, "");
}

// SAML-23
TEST_F(SamlSignInTest, EitherOfTwoCertificatesCountsWhileTheProviderChangesThem) {
  const Signer next;
  connection_.certificates = {signer_->certificate, next.certificate};
  EXPECT_TRUE(complete(response_.signed_xml(next)));
  response_.assertion_id = "_a2";
  EXPECT_TRUE(complete(response_.signed_xml(*signer_)));
  const auto of_third = complete(response_.signed_xml(Signer()));
  ASSERT_FALSE(of_third);
  EXPECT_EQ(of_third.error().rule, "SAML-8");
  EXPECT_THAT(of_third.error().text, HasSubstr("next_certificate"));
}

// SAML-8: an expired certificate verifies nothing, although the other one is valid.
TEST_F(SamlSignInTest, AnExpiredCertificateDoesNotCountBesideAValidOne) {
  const Signer valid;
  connection_.certificates = {tests::certificate_of(signer_->key.get(), {.not_after_seconds = -60}),
                              valid.certificate};
  const auto identity = complete(response_.signed_xml(*signer_));
  ASSERT_FALSE(identity);
  EXPECT_EQ(identity.error().rule, "SAML-8");
  EXPECT_TRUE(complete(response_.signed_xml(valid)));
  connection_.certificates.pop_back();
  EXPECT_THAT(complete(response_.signed_xml(*signer_)).error().text, HasSubstr("expired"));
}

// SAML-7
TEST_F(SamlSignInTest, EllipticCurvesSignAsWell) {
  Signer signer;
  signer.key = tests::make_ec_key();
  signer.certificate = tests::certificate_of(signer.key.get());
  connection_.certificates = {signer.certificate};
  response_.signature.method = "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256";
  EXPECT_TRUE(complete(response_.signed_xml(signer)));
}

// SAML-7
TEST_F(SamlSignInTest, Sha1CountsOnlyWhereTheConnectionSaysSo) {
  response_.signature.method = "http://www.w3.org/2000/09/xmldsig#rsa-sha1";
  response_.signature.digest = "http://www.w3.org/2000/09/xmldsig#sha1";
  const std::string xml = response_.signed_xml(*signer_);
  EXPECT_EQ(complete(xml).error().rule, "SAML-7");
  EXPECT_THAT(complete(xml).error().text, HasSubstr("hash: sha1"));
  connection_.settings.sha1 = true;
  EXPECT_TRUE(complete(xml));
}

// SAML-23
TEST(SamlConnection, FollowsFromTheSettings) {
  config::SsoConnectionSettings one;
  one.name = "acme";
  one.kind = config::SsoKind::saml;
  one.domains = {"acme.example"};
  one.sign_in_url = "https://idp.example.com/sso";
  one.certificate = "/nonexistent/idp.pem";
  one.next_certificate = "/nonexistent/next.pem";
  one.provider_entity_id = kProvider;
  const SamlConnection connection =
      saml_connection({.auth_url = "https://login.example.com", .connections = {}}, one);
  EXPECT_EQ(connection.post_back_url, kPostBack);
  EXPECT_EQ(connection.entity_id, kEntityId);
  EXPECT_EQ(connection.settings.provider_entity_id, kProvider);
  EXPECT_EQ(connection.settings.claim_email, std::string(kClaims) + "emailaddress");
  EXPECT_EQ(connection.certificates.size(), 2U);
  EXPECT_EQ(refusing_rule(TestResponse().signed_xml(Signer()), connection, system_now(),
                          test_request(system_now())),
            "SAML-8")
      << "files that cannot be read verify nothing";
}

}  // namespace
}  // namespace giftsync::saml
