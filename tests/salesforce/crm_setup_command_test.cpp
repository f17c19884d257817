// "giftsyncctl crm setup" against an org without giftsync's package.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/cli_fixture.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/salesforce/fake_org_fixture.h"

namespace giftsync::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using tests::fake_org::Json;
using tests::fake_org::Org;

class CrmSetupCommandTest : public testing::Test {
 protected:
  CrmSetupCommandTest() {
    server_.with_org([](Org& org) {
      const std::string user = org.add_user("admin@example.com", "System_Administrator");
      org.database().run("INSERT INTO org_session (token, user_id, ends_at) VALUES (?, ?, ?)",
                         {std::string(kToken), user, static_cast<double>(org.now().value + kDayMillis)});
    });
  }
  CliFixture::Result set_up(std::vector<std::string> options = {}, const std::string& token = kToken) {
    std::vector<std::string> arguments{"crm", "setup", "--domain", server_.url()};
    arguments.insert(arguments.end(), options.begin(), options.end());
    CliFixture::Result result = cli_.run(arguments, token + "\n");
    EXPECT_THAT(result.out + result.err, Not(HasSubstr(kToken)));
    return result;
  }
  bool has_package() {
    bool found = false;
    server_.with_org([&](Org& org) { found = org.schema().find("Gift_Record__c") != nullptr; });
    return found;
  }

  static constexpr const char* kToken = "00D!AQ.secret";
  tests::fake_org::Server server_{0, ":memory:", "/nonexistent"};
  CliFixture cli_;
};

TEST_F(CrmSetupCommandTest, DeploysThePackageAndNamesTheNextStep) {
  const auto result = set_up();
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("components deployed"));
  EXPECT_THAT(result.err, AllOf(HasSubstr("InProgress: 0 of "), HasSubstr("giftsync_Integration")));
  EXPECT_TRUE(has_package());
}

TEST_F(CrmSetupCommandTest, ACheckDeploysNothing) {
  const auto result = set_up({"--check-only"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("would be deployed"));
  EXPECT_FALSE(has_package());
}

// ORG-17
TEST_F(CrmSetupCommandTest, ReplacesWhatTheOrgHasOnlyOnceThatIsConfirmed) {
  server_.with_org([](Org& org) { org.set("foreign_permission_sets", "Admin"); });
  const auto checked = set_up({"--check-only"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("would replace PermissionSet Admin\n"));
  const auto asked = set_up();
  EXPECT_EQ(asked.code, 64);
  EXPECT_EQ(asked.out, "replaces PermissionSet Admin\n");
  EXPECT_THAT(asked.err, AllOf(HasSubstr("Replace 1 component of the org?"), HasSubstr("--yes")));
  EXPECT_FALSE(has_package());
  const auto confirmed = set_up({"--yes"});
  EXPECT_EQ(confirmed.code, 0) << confirmed.err;
  EXPECT_TRUE(has_package());
  const auto again = set_up();
  EXPECT_EQ(again.code, 0) << "nothing differs any more: " << again.err;
  EXPECT_THAT(again.out, Not(HasSubstr("replace")));
}

TEST_F(CrmSetupCommandTest, AProductionOrgTakesThePackage) {
  server_.with_org([](Org& org) { org.set("production", "true"); });
  const auto result = set_up();
  EXPECT_EQ(result.code, 0) << result.err;
}

TEST_F(CrmSetupCommandTest, TakesTheJsonOfTheSalesforceCli) {
  const std::string token(kToken);
  EXPECT_EQ(set_up({"--check-only"}, R"({"status":0,"result":{"accessToken":")" + token + R"("}})").code, 0);
  EXPECT_EQ(set_up({"--check-only"},
                   "{\n  \"status\": 0,\n  \"result\": {\n    \"accessToken\": \"" + token + "\"\n  }\n}")
                .code,
            0);
  for (const char* json : {"{", "{}", R"({"result":{"accessToken":null}})",
                           R"({"result":{"accessToken":""}})", R"({"result":"x"})"})
    EXPECT_EQ(set_up({"--check-only"}, json).code, 65) << json;
}

TEST_F(CrmSetupCommandTest, AHiddenTokenHasItsOwnAnswer) {
  const std::string hidden = "[REDACTED] Use 'sf org auth show-access-token' to view";
  for (const std::string& given : {hidden, R"({"status":0,"result":{"accessToken":")" + hidden + R"("}})"}) {
    const auto result = set_up({}, given);
    EXPECT_EQ(result.code, 65);
    EXPECT_THAT(result.err, AllOf(HasSubstr("hid the token"),
                                  HasSubstr("sf org auth show-access-token --json | giftsyncctl crm setup")));
  }
  EXPECT_THAT(set_up({}, "two words").err, HasSubstr("sf org auth show-access-token --json | giftsyncctl"));
}

TEST_F(CrmSetupCommandTest, ListsWhatTheOrgRefuses) {
  server_.with_org([](Org& org) {
    org.faults().add({{"kind", "component_failure"},
                      {"file", "objects/Gift_Record__c.object"},
                      {"type", "CustomField"},
                      {"name", "Gift_Record__c.Message__c"},
                      {"line", 17},
                      {"problem", "Cannot change field type"}});
  });
  const auto result = set_up();
  EXPECT_EQ(result.code, 78);
  EXPECT_EQ(
      result.out,
      "objects/Gift_Record__c.object:17: Cannot change field type (CustomField Gift_Record__c.Message__c)\n");
  EXPECT_THAT(result.err, HasSubstr("nothing was changed"));
}

TEST_F(CrmSetupCommandTest, RefusesAWrongTokenAndAWrongAddress) {
  EXPECT_EQ(set_up({}, "ended").code, 78);
  EXPECT_THAT(set_up({}, "ended").err, HasSubstr("new access token"));
  EXPECT_EQ(set_up({}, "").code, 65);
  EXPECT_EQ(cli_.run({"crm", "setup"}, kToken).code, 64);
  EXPECT_EQ(cli_.run({"crm", "setup", "--domain", "http://acme.my.salesforce.com"}, kToken).code, 64)
      << "a token is never sent without TLS";
}

TEST_F(CrmSetupCommandTest, AnOrgThatDoesNotAnswerIsUnavailable) {
  EXPECT_EQ(cli_.run({"crm", "setup", "--domain", "http://127.0.0.1:1"}, kToken).code, 69);
}

TEST_F(CrmSetupCommandTest, NeedsNoSettingsFile) {
  const auto without_file = [&](std::vector<std::string> options) {
    std::vector<std::string> arguments{"--config", cli_.path("missing.yaml"), "crm", "setup"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return cli_.run_bare(arguments, std::string(kToken) + "\n");
  };
  const auto written = without_file({"--out", cli_.path("project")});
  EXPECT_EQ(written.code, 0) << written.err;
  const auto checked = without_file({"--domain", server_.url(), "--check-only"});
  EXPECT_EQ(checked.code, 0) << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("would be deployed"));
  const auto nowhere = without_file({"--check-only"});
  EXPECT_EQ(nowhere.code, 64);
  EXPECT_THAT(nowhere.err, HasSubstr("missing --domain"));
  EXPECT_NE(cli_.run_bare({"--config", cli_.path("missing.yaml"), "gift", "list"}).code, 0);
}

TEST_F(CrmSetupCommandTest, WritesTheProjectIntoANewFolder) {
  const std::string folder = cli_.path("project");
  EXPECT_EQ(cli_.run({"crm", "setup", "--out", folder}).code, 0);
  EXPECT_EQ(tests::fake_org::read_project(folder),
            tests::fake_org::read_project(tests::fake_org::salesforce_project()));
  EXPECT_TRUE(std::filesystem::exists(folder + "/sfdx-project.json"));
  EXPECT_EQ(cli_.run({"crm", "setup", "--out", folder}).code, 73) << "nothing is overwritten";
}

}  // namespace
}  // namespace giftsync::cli
