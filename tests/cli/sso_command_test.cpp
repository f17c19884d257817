#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Json = nlohmann::json;

class CliSso : public testing::Test {
 protected:
  CliSso() {
    cli_.write("secret", "hunter2\n");
    cli_.write_settings(
        "sso:\n"
        "  auth_url: \"https://login.example.com\"\n"
        "  connections:\n"
        "    - { name: acme, client_id: g, client_secret: \"file:secret\", issuer: "
        "\"https://127.0.0.1:1/realm\", domains: [acme.com] }\n"
        "    - { name: dir, type: directory, domain: edge.onmicrosoft.com, client_id: d, client_secret: "
        "hunter2, identity_api: v1 }\n");
  }
  CliFixture cli_;
};

TEST_F(CliSso, ShowsWhatTheCustomersAdministratorNeedsAndNoSecret) {
  const auto text = cli_.run({"sso", "show", "acme"});
  EXPECT_EQ(text.code, 0);
  EXPECT_THAT(
      text.out,
      AllOf(HasSubstr("post_back_url: https://login.example.com/login/callback?connection=acme\n"),
            HasSubstr("login_redirect_url: https://login.example.com/login/callback\n"),
            HasSubstr("/realm/.well-known/openid-configuration"), HasSubstr("client_secret: ********")));
  const Json json = tests::parse_json(cli_.run({"sso", "show", "dir", "--json"}).out);
  EXPECT_EQ(json["authorize_endpoint"],
            "https://login.microsoftonline.com/edge.onmicrosoft.com/oauth2/authorize");
  EXPECT_EQ(json["identity_api"], "v1");
  EXPECT_TRUE(json["issuer"].is_null());
  EXPECT_EQ(tests::parse_json(cli_.run({"sso", "list", "--json"}).out)[1]["domains"][0],
            "edge.onmicrosoft.com");
  for (const std::vector<std::string>& args : {std::vector<std::string>{"sso", "list"},
                                               {"sso", "show", "acme"},
                                               {"sso", "show", "dir", "--json"},
                                               {"sso", "check", "acme"},
                                               {"settings", "show"},
                                               {"settings", "show", "--json"}}) {
    const auto result = cli_.run(args);
    EXPECT_THAT(result.out + result.err, Not(HasSubstr("hunter2"))) << args[1];
  }
  EXPECT_EQ(cli_.run({"sso", "show", "unknown"}).code, 65);
  EXPECT_EQ(cli_.run({"sso", "show", "acme", "--metadata"}).code, 65);
}

TEST_F(CliSso, RoutesKnownDomainsOnly) {
  EXPECT_EQ(cli_.run({"sso", "route", "rose@ACME.com"}).out, "acme\n");
  EXPECT_EQ(cli_.run({"sso", "route", "rose@other.com"}).code, 65);
  EXPECT_TRUE(
      tests::parse_json(cli_.run({"sso", "route", "x@other.com", "--json"}).out)["connection"].is_null());
}

TEST_F(CliSso, AProviderThatDoesNotAnswerIsUnavailable) {
  const auto result = cli_.run({"sso", "check", "acme"});
  EXPECT_EQ(result.code, 69);
  EXPECT_THAT(result.out, AllOf(StartsWith("unreachable"), HasSubstr("127.0.0.1:1/realm/.well-known")));
  EXPECT_EQ(tests::parse_json(cli_.run({"sso", "check", "acme", "--json"}).out)["good"], false);
}

// SET-7
TEST_F(CliSso, SettingsShowPrintsTheProvenanceOfEachValue) {
  const std::string file = cli_.path("giftsyncd.yaml");
  const auto text = cli_.run({"settings", "show"});
  EXPECT_THAT(
      text.out,
      AllOf(HasSubstr("limits.max_recipients: 1000  # default\n"),
            HasSubstr("store.connection: \"" + cli_.path("store.db") + "\"  # " + file + ":2\n"),
            HasSubstr("sso.connections[0].client_secret: \"********\"  # " + file + ":7 (file:secret)\n"),
            HasSubstr("sso.connections[1].client_secret: \"********\"  # " + file + ":8 (literal)\n"),
            HasSubstr("requests.api_endpoint: \"http://127.0.0.1:8480\"  # default\n")));
  const Json json = tests::parse_json(cli_.run({"settings", "show", "--json"}).out);
  EXPECT_EQ(json["provenance"]["sso.connections[1].domain"], file + ":8");
  EXPECT_EQ(json["provenance"]["log.level"], "default");
  EXPECT_EQ(json["sso"]["connections"][0]["name"], "acme");
}

}  // namespace
}  // namespace giftsync::cli
