// The section `sso`: every fault that can be found without a request to a provider, with its line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "daemon/config/read_settings.h"
#include "sync/access/credential.h"
#include "tests/support/test_certificate.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using tests::CertificateSpec;
using tests::make_certificate;

constexpr long kDay = 86'400;

class SsoSettingsTest : public ::testing::Test {
 protected:
  SsoSettingsTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "sso_settings.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = folder;
    write("secret", "hush");
    write("good.pem", tests::make_certificate());
  }
  ~SsoSettingsTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_read);
  }
  /// The connections begin on line 7.
  tl::expected<Settings, SettingsFaults> read(
      const std::string& connections,
      const std::string& top = "  auth_url: \"https://login.example.com/\"") const {
    return read_settings_text(
        "server: { base_url: \"https://gifts.example.com\", admin_url: \"https://gifts.internal\" }\n"
        "store: { connection: gifts.db }\n"
        "email: { directory: outbox, from: gifts@example.com }\n"
        "sso:\n" +
            top + "\n  connections:\n" + connections,
        (folder_ / "a.yaml").string());
  }
  std::vector<std::string> faults(const std::string& connections) const {
    const auto outcome = read(connections);
    return outcome ? std::vector<std::string>() : outcome.error().lines;
  }
  std::vector<std::string> warnings(const std::string& connections) const {
    const auto outcome = read(connections);
    EXPECT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
    return outcome.has_value() ? outcome.value().warnings : std::vector<std::string>();
  }
  static std::string saml(const std::string& more) {
    return "  - { name: edge, type: saml, sign_in_url: \"https://idp.edge.com/sso?a=1\", " + more + " }\n";
  }
  static std::string oidc(const std::string& name, const std::string& issuer, const std::string& domains) {
    return "  - { name: " + name + ", client_id: g, client_secret: \"file:secret\", issuer: \"" + issuer +
           "\", domains: [" + domains + "] }\n";
  }
  std::filesystem::path folder_;
};

// HTTP-43
TEST_F(SsoSettingsTest, ReadsConnectionsOfEveryKind) {
  const auto outcome = read(oidc("acme", "https://idp.acme.com/", "\"Acme.com\", \"bücher.example\"") +
                            saml("certificate: good.pem") +
                            "  - { name: dir, type: directory, domain: Edge.onmicrosoft.com, client_id: d, "
                            "client_secret: \"file:secret\", identity_api: v1 }\n");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const Settings& settings = outcome.value();
  const SsoSettings& sso = settings.sso;
  EXPECT_THAT(settings.warnings, IsEmpty());
  EXPECT_EQ(sso.auth_url, "https://login.example.com");
  EXPECT_EQ(sso.authority, "https://login.microsoftonline.com");
  ASSERT_THAT(sso.connections, SizeIs(3));
  EXPECT_EQ(sso.connections[0].issuer, "https://idp.acme.com/") << "the slash is part of the name";
  EXPECT_THAT(sso.connections[0].domains, ElementsAre("acme.com", "xn--bcher-kva.example"));
  EXPECT_EQ(sso.connections[0].client_secret.reveal(), "hush");
  EXPECT_EQ(sso.connections[1].kind, SsoKind::saml);
  EXPECT_FALSE(sso.connections[1].sha1);
  EXPECT_THAT(sso.connections[1].claim_email, HasSubstr("emailaddress"));
  EXPECT_EQ(sso.connections[2].domain, "edge.onmicrosoft.com");
  EXPECT_FALSE(sso.connections[2].identity_api_v2);
  EXPECT_EQ(settings.provenance.at("sso.connections[0].client_secret").reference, "file:secret");
  EXPECT_EQ(settings.provenance.at("sso.connections[1].certificate").line, 8);
  EXPECT_FALSE(settings.provenance.contains("sso.authority"));
}

TEST_F(SsoSettingsTest, InvalidNamesAndUrlsAreRefused) {
  for (const char* name : {"Acme", "a_b", "-a", "a-", "a.b", "ä", "a b"}) {
    EXPECT_THAT(faults(oidc(name, "https://a.com", "a.com")),
                ElementsAre(AllOf(HasSubstr("a.yaml:7: sso.connections[0].name: "), HasSubstr(name))));
  }
  for (const char* issuer :
       {"http://a.com", "https://u:p@a.com", "https://a.com?x=1", "https://a.com/#x", "a.com"})
    EXPECT_THAT(faults(oidc("a", issuer, "a.com")),
                ElementsAre(HasSubstr("a.yaml:7: sso.connections[0].issuer: ")));
  EXPECT_THAT(
      faults("  - { name: edge, type: saml, sign_in_url: \"http://idp.edge.com\", certificate: good.pem }\n"),
      ElementsAre(HasSubstr("which does not begin with https://")));
  const auto outcome = read(oidc("a", "https://a.com", "a.com"), "  auth_url: \"http://login.example.com\"");
  EXPECT_THAT(outcome.error().lines, ElementsAre(HasSubstr("a.yaml:5: sso.auth_url: ")));
}

TEST_F(SsoSettingsTest, RequiredAndIneffectiveKeysOfATypeAreFaults) {
  EXPECT_THAT(faults("  - { name: a }\n"), ElementsAre(HasSubstr("issuer"), HasSubstr("client_id"),
                                                       HasSubstr("client_secret"), HasSubstr("domains")));
  EXPECT_THAT(faults("  - { name: a, type: saml, client_id: x }\n"),
              ::testing::UnorderedElementsAre(HasSubstr("sign_in_url: found nothing"),
                                              HasSubstr("certificate: found nothing"),
                                              HasSubstr("type: saml leaves without effect")));
  EXPECT_THAT(
      faults("  - { name: a, type: directory, client_id: x, client_secret: \"file:secret\", hash: sha1 }\n"),
      ::testing::UnorderedElementsAre(HasSubstr("domain: found nothing"),
                                      HasSubstr("hash: found a key that")));
  EXPECT_THAT(faults(oidc("a", "https://a.com", "")), ElementsAre(HasSubstr("at least one domain")));
  const auto outcome =
      read(oidc("a", "https://a.com", "a.com"), "  authority: \"https://login.chinacloudapi.cn\"");
  EXPECT_THAT(outcome.error().lines, ElementsAre(HasSubstr("sso.auth_url: found nothing")));
}

// SIGN-16
TEST_F(SsoSettingsTest, GroupsGiveRolesAndOperatorOnlyWhereItIsAllowed) {
  const auto with = [](const std::string& more) {
    return "  - { name: a, client_id: g, client_secret: \"file:secret\", issuer: \"https://a.com\", domains: "
           "[a.com], " +
           more + " }\n";
  };
  const auto outcome =
      read(with("groups: { \"Gift admins\": admin, 11111111-2222: auditor }, groups_claim: roles"));
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const SsoConnectionSettings& connection = outcome.value().sso.connections[0];
  EXPECT_THAT(connection.groups,
              ElementsAre(std::pair("Gift admins", "admin"), std::pair("11111111-2222", "auditor")));
  EXPECT_EQ(connection.groups_claim, "roles");
  EXPECT_THAT(faults(with("groups: { Ops: operator }")),
              ElementsAre(AllOf(HasSubstr("sso.connections[0].groups: found \"operator\" for \"Ops\""),
                                HasSubstr("groups_give_operator: true"))));
  EXPECT_THAT(faults(with("groups: { Ops: operator }, groups_give_operator: true")), IsEmpty());
  EXPECT_THAT(faults(with("groups: { Ops: root }")), ElementsAre(HasSubstr("\"root\" for \"Ops\"")));
  EXPECT_THAT(faults(with("groups_claim: roles")), ElementsAre(HasSubstr("no effect without groups")));
}

TEST_F(SsoSettingsTest, NamesAndDomainsAreUniqueOverConnections) {
  EXPECT_THAT(
      faults(oidc("a", "https://a.com", "a.com") + oidc("a", "https://b.com", "b.com")),
      ElementsAre(AllOf(HasSubstr("a.yaml:8: sso.connections[1].name: "), HasSubstr("first on line 7"))));
  EXPECT_THAT(faults(oidc("a", "https://a.com", "a.com") + oidc("b", "https://b.com", "b.com, A.COM")),
              ElementsAre(AllOf(HasSubstr("a.yaml:8: sso.connections[1].domains: "),
                                HasSubstr("\"a.com\" again, first on line 7"))));
  const std::string directory =
      "  - { name: d, type: directory, domain: a.com, client_id: x, client_secret: \"file:secret\"";
  EXPECT_THAT(faults(oidc("a", "https://a.com", "a.com") + directory + " }\n"),
              ElementsAre(HasSubstr("sso.connections[1].domain: found \"a.com\" again")));
  EXPECT_THAT(faults(directory + ", domains: [a.com] }\n"), IsEmpty())
      << "its own domain may be among its domains";
}

// OIDC-4, OIDC-9, OIDC-11, SIGN-3
TEST_F(SsoSettingsTest, ReadsHowPeopleSignIn) {
  const std::string directory =
      "  - { name: d, type: directory, domain: a.com, client_id: x, client_secret: \"file:secret\"";
  const auto outcome = read(directory +
                            ", redirect: login, algorithms: [ES256], scopes: [openid, email], tenant_id: "
                            "\"AAAAAAAA-2222-3333-4444-555555555555\", allow_guests: true }\n" +
                            oidc("acme", "https://idp.acme.com", "acme.com"));
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const SsoConnectionSettings& given = outcome.value().sso.connections[0];
  EXPECT_TRUE(given.redirect_to_login);
  EXPECT_THAT(given.algorithms, ElementsAre("ES256"));
  EXPECT_THAT(given.scopes, ElementsAre("openid", "email"));
  EXPECT_EQ(given.tenant_id, "aaaaaaaa-2222-3333-4444-555555555555");
  EXPECT_TRUE(given.allow_guests);
  const SsoConnectionSettings& by_default = outcome.value().sso.connections[1];
  EXPECT_FALSE(by_default.redirect_to_login);
  EXPECT_THAT(by_default.algorithms, ElementsAre("RS256", "ES256"));
  EXPECT_THAT(by_default.scopes, ElementsAre("openid", "profile", "email"));

  EXPECT_THAT(faults(directory + ", algorithms: [HS256] }\n"), ElementsAre(HasSubstr("not RS256 or ES256")));
  EXPECT_THAT(faults(directory + ", scopes: [email] }\n"), ElementsAre(HasSubstr("a list without openid")));
  EXPECT_THAT(faults(directory + ", scopes: [openid, \"a b\"] }\n"), ElementsAre(HasSubstr("has a space")));
  EXPECT_THAT(faults(directory + ", tenant_id: common }\n"), ElementsAre(HasSubstr("which is not an id")));
  EXPECT_THAT(faults(saml("certificate: good.pem, redirect: login")),
              ElementsAre(HasSubstr("type: saml leaves without effect")));
}

// HTTP-45
TEST_F(SsoSettingsTest, UntrustworthyCertificatesAreRefused) {
  tests::CertificateSpec weak;
  weak.rsa_bits = 1024;
  write("weak.pem", tests::make_certificate(weak));
  write("two.pem", tests::make_certificate() + tests::make_certificate());
  write("none.pem", "hello\n");
  write("key.pem", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
  const std::vector<std::pair<std::string, std::string>> cases{{"weak.pem", "RSA key has 1024 bits"},
                                                               {"two.pem", "more than one certificate"},
                                                               {"none.pem", "not an X.509 certificate"},
                                                               {"key.pem", "private key"},
                                                               {"missing.pem", "cannot be read"}};
  for (const auto& [file, reason] : cases) {
    EXPECT_THAT(
        faults(saml("certificate: " + file)),
        ElementsAre(AllOf(HasSubstr("a.yaml:7: sso.connections[0].certificate: "), HasSubstr(reason))))
        << file;
  }
}

// SAML-23
TEST_F(SsoSettingsTest, ASecondCertificateAndTheProvidersEntityIdAreOptional) {
  write("next.pem", tests::make_certificate());
  write("yesterday.pem", tests::make_certificate({-400 * kDay, -kDay}));
  write("soon.pem", tests::make_certificate({-kDay, 29 * kDay}));
  const std::string certificate = "certificate: good.pem, next_certificate: ";
  const auto outcome =
      read(saml(certificate + "next.pem, provider_entity_id: \"https://idp.edge.com/metadata\""));
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const SsoConnectionSettings& connection = outcome.value().sso.connections.front();
  EXPECT_EQ(connection.next_certificate, (folder_ / "next.pem").string());
  EXPECT_EQ(connection.provider_entity_id, "https://idp.edge.com/metadata");
  EXPECT_THAT(warnings(saml(certificate + "yesterday.pem")),
              ElementsAre(AllOf(HasSubstr("connections[0].next_certificate: "), HasSubstr("expired"))));
  EXPECT_THAT(warnings(saml(certificate + "soon.pem")),
              ElementsAre(AllOf(HasSubstr("connections[0].next_certificate: "), HasSubstr("expires on"))));
  EXPECT_THAT(
      faults("  - { name: a, client_id: g, client_secret: \"file:secret\", issuer: \"https://a.com\", "
             "domains: [a.com], provider_entity_id: x }\n"),
      ElementsAre(HasSubstr("provider_entity_id: found a key that")));
}

// HTTP-45: a provider's dates, or a wrong clock here, keep no daemon from starting.
TEST_F(SsoSettingsTest, CertificatesThatAreNotValidNowCauseWarnings) {
  write("yesterday.pem", tests::make_certificate({-400 * kDay, -kDay}));
  write("tomorrow.pem", tests::make_certificate({kDay, 400 * kDay}));
  for (const auto& [file, reason] : {std::pair{"yesterday.pem", "which expired on 20"},
                                     std::pair{"tomorrow.pem", "which is not valid before 20"}})
    EXPECT_THAT(warnings(saml(std::string("certificate: ") + file)),
                ElementsAre(AllOf(HasSubstr("a.yaml:7: sso.connections[0].certificate: "), HasSubstr(reason),
                                  HasSubstr("it verifies no sign-in"))))
        << file;
}

TEST_F(SsoSettingsTest, SoonExpiringAndWeakCertificatesCauseWarnings) {
  write("soon.pem", tests::make_certificate({-kDay, 29 * kDay}));
  write("later.pem", tests::make_certificate({-kDay, 31 * kDay}));
  tests::CertificateSpec curve;
  curve.rsa_bits = 0;
  write("curve.pem", tests::make_certificate(curve));
  EXPECT_THAT(
      warnings(saml("certificate: soon.pem")),
      ElementsAre(AllOf(HasSubstr("a.yaml:7: sso.connections[0].certificate: "), HasSubstr("expires on"))));
  EXPECT_THAT(warnings(saml("certificate: later.pem")), IsEmpty());
  EXPECT_THAT(warnings(saml("certificate: curve.pem")), IsEmpty());
  EXPECT_THAT(warnings(saml("certificate: good.pem, hash: sha1")), ElementsAre(HasSubstr("SHA1")));
  EXPECT_THAT(
      warnings("  - { name: d, type: directory, domain: a.com, client_id: x, client_secret: hunter2 }\n"),
      ElementsAre(AllOf(HasSubstr("client_secret"), Not(HasSubstr("hunter2")))));
}

// REQ-41
TEST_F(SsoSettingsTest, AnOrganizationTokenMustBeWellFormed) {
  const auto with_token = [&](const std::string& token) {
    write("token-" + std::to_string(token.size()), token);
    return read_settings_text(
        "server: { base_url: \"https://gifts.example.com/g\", admin_url: \"https://gifts.internal\" }\n"
        "store: { connection: gifts.db }\n"
        "email: { directory: outbox, from: gifts@example.com }\n"
        "requests: { organization_token: \"file:token-" +
            std::to_string(token.size()) + "\" }\n",
        (folder_ / "a.yaml").string());
  };
  const auto good = with_token(sync::make_credential(CredentialKind::organization_token).text + "\n");
  ASSERT_TRUE(good.has_value());
  EXPECT_EQ(good.value().requests.api_endpoint, "https://gifts.example.com/g");
  const auto bad = with_token("hunter2");
  EXPECT_THAT(bad.error().lines, ElementsAre(AllOf(HasSubstr("a.yaml:4: requests.organization_token: "),
                                                   Not(HasSubstr("hunter2")))));
}

}  // namespace
}  // namespace giftsync::config
