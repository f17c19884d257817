// "giftsyncctl crm check" against an org.
#include "crm/salesforce/calls/call_governor.h"
#include "schema/store/store.h"
#include "tests/salesforce/fake_org/foreign_package.h"
#include "tests/salesforce/org_command_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;
using salesforce::CallGovernor;
using salesforce::CallPurpose;
using salesforce::kGovernorFact;
using tests::fake_org::Org;

class CrmCheckCommandTest : public OrgCommandTest {};

TEST_F(CrmCheckCommandTest, ShowsTheModeOfAGoodOrg) {
  const auto result = cli_.run({"crm", "check"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("mode guarded"), HasSubstr("mode set: guarded"), HasSubstr("API calls: ")));
}

TEST_F(CrmCheckCommandTest, NamesFaultsWithTheirRemedies) {
  sql("UPDATE crm_validation_rule SET active = 0 WHERE validationname = 'Only_Newer'");
  const auto result = cli_.run({"crm", "check"});
  EXPECT_EQ(result.code, 78);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("mode none"), HasSubstr("fault   mode: "),
                    HasSubstr("Only_Newer of Gift_Record__c is not active"), HasSubstr("crm setup")));
}

// ORG-8, ORG-10
TEST_F(CrmCheckCommandTest, TellsWhatToDoAboutThePackageOfAnotherOwner) {
  server_.with_org([](Org& org) { org.deploy(tests::fake_org::foreign_package(org.files(), "thx")); });
  write_settings("", "  namespace: thx\n");
  const auto guarded = cli_.run({"crm", "check"});
  EXPECT_EQ(guarded.code, 78);
  EXPECT_THAT(guarded.out, AllOf(HasSubstr("mode bare"), HasSubstr("mode set: guarded, which does not work"),
                                 HasSubstr("set crm.salesforce.mode: bare")));
  write_settings(", mode: bare", "  namespace: thx\n", "tasks:\n  enabled: true\n");
  const auto bare = cli_.run({"crm", "check"});
  EXPECT_EQ(bare.code, 0) << bare.out << bare.err;
  EXPECT_THAT(bare.out, AllOf(HasSubstr("mode bare"), HasSubstr("mode set: bare\n"),
                              HasSubstr("is not unique"), HasSubstr("warning tasks: no task is made")));
}

// SYNC-78, ORG-22
TEST_F(CrmCheckCommandTest, VerifiesTheFallbackOwnerAndTheAddressesBehindAliases) {
  sql("UPDATE crm_user SET email = 'sam@example.com' WHERE id = '" + user_ + "'");
  write_settings(
      "", "  fallback_owner: " + user_ + "\n  sender_aliases: { \"sam@old.example\": sam@example.com }\n");
  const auto good = cli_.run({"crm", "check"});
  EXPECT_EQ(good.code, 0) << good.out << good.err;
  EXPECT_THAT(good.out, HasSubstr("person accounts: the org has none"));
  write_settings("",
                 "  fallback_owner: \"005000000000999AAA\"\n"
                 "  sender_aliases: { \"sam@old.example\": sam@exmaple.com }\n");
  const auto bad = cli_.run({"crm", "check"});
  EXPECT_EQ(bad.code, 78);
  EXPECT_THAT(
      bad.out,
      AllOf(HasSubstr("fault   crm.fallback_owner: the CRM has no user with the Id 005000000000999AAA\n"
                      "        name the Id of an active user"),
            HasSubstr("fault   crm.sender_aliases: no active user of the CRM has the address "
                      "sam@exmaple.com, which sam@old.example stands for")));
  EXPECT_FALSE(tests::parse_json(cli_.run({"crm", "check", "--json"}).out)["good"].get<bool>());
}

// SYNC-78
TEST_F(CrmCheckCommandTest, TellsWhatItFoundAlthoughTheUsersCannotBeRead) {
  write_settings("", "  fallback_owner: " + user_ + "\n");
  const Json body = Json::array({{{"errorCode", "REQUEST_LIMIT_EXCEEDED"}, {"message", "used up"}}});
  server_.with_org([&](Org& org) {
    org.faults().add({{"kind", "answer"},
                      {"status", 403},
                      {"content_type", "application/json"},
                      {"body", body.dump()},
                      {"path", "/composite"},
                      {"skip", 2}});  // those of the org's description
  });
  const auto result = cli_.run({"crm", "check"});
  EXPECT_EQ(result.code, 78) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("mode guarded"), HasSubstr("API calls: "),
                                HasSubstr("fault   crm.fallback_owner: whether the CRM has these users is "
                                          "not known: "),
                                HasSubstr("REQUEST_LIMIT_EXCEEDED")));
}

TEST_F(CrmCheckCommandTest, HasTheSameAsData) {
  const Json json = tests::parse_json(cli_.run({"crm", "check", "--json"}).out);
  EXPECT_EQ(json["good"], true);
  EXPECT_EQ(json["mode"], "guarded");
  EXPECT_EQ(json["mode_set"], "guarded");
  EXPECT_EQ(json["faults"], Json::array());
  EXPECT_EQ(json["is_sandbox"], false);
  EXPECT_FALSE(json["findings"].empty());
}

// ORG-8, SYNC-70
TEST_F(CrmCheckCommandTest, WakesDaemonsThatPauseForTheOrg) {
  store::Store store(cli_.address());
  EXPECT_EQ(store.metadata(store::kCrmWakeFact), std::nullopt);
  cli_.run({"crm", "check"});
  const auto mark = store.metadata(store::kCrmWakeFact);
  ASSERT_TRUE(mark.has_value());
  cli_.run({"crm", "check"});
  EXPECT_NE(store.metadata(store::kCrmWakeFact), mark);
}

// ORG-5, SYNC-70
TEST_F(CrmCheckCommandTest, ARetryEndsTheRestAfterAUsedUpQuota) {
  store::Store store(cli_.address());
  CallGovernor governor({});
  governor.rest_until(system_now() + kHourMillis, "REQUEST_LIMIT_EXCEEDED");
  store.set_metadata(kGovernorFact, governor.to_text());
  const auto result = cli_.run({"crm", "retry", "--all"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("The org is asked again within seconds"));
  ASSERT_TRUE(governor.read_text(store.metadata(kGovernorFact).value_or("")));
  EXPECT_TRUE(governor.permit(CallPurpose::gifts, system_now()).is_allowed);
  EXPECT_TRUE(store.metadata(store::kCrmWakeFact).has_value());
}

// ORG-5
TEST_F(CrmCheckCommandTest, IsCountedAndEndsARestOfAnOrgThatAnswers) {
  cli_.now = system_now();
  store::Store store(cli_.address());
  CallGovernor governor({});
  governor.rest_until(cli_.now + kHourMillis, "REQUEST_LIMIT_EXCEEDED");
  store.set_metadata(kGovernorFact, governor.to_text());
  const int before = calls();
  EXPECT_EQ(cli_.run({"crm", "check"}).code, 0);
  const int made = calls() - before;
  const Json counted = tests::parse_json(cli_.run({"status", "--json"}).out)["salesforce"]["calls"];
  EXPECT_EQ(counted["own_in_24_hours"], 5);
  EXPECT_LE(made, 6) << "and one for the versions, which is free";
  EXPECT_GT(counted["org_limit"], 0);
  EXPECT_EQ(counted["resting_until"], nullptr);
}

TEST_F(CrmCheckCommandTest, AListingReadsNothingTwice) {
  sql("INSERT INTO crm_contact (lastname, name) VALUES ('A', 'A'), ('B', 'B'), ('C', 'C')");
  const auto calls_of = [&](const std::vector<std::string>& command) {
    const int before = calls();
    EXPECT_EQ(cli_.run(command).code, 0);
    return calls() - before;
  };
  EXPECT_EQ(calls_of({"crm", "list", "contact"}), 3);
  EXPECT_EQ(calls_of({"crm", "list", "contact", "--limit", "2"}), 4) << "whether more follow";
  EXPECT_THAT(cli_.run({"crm", "list", "contact", "--limit", "2"}).err, HasSubstr("More follow: "));
  EXPECT_THAT(cli_.run({"crm", "list", "contact", "--limit", "3"}).err, testing::Not(HasSubstr("More")));
}

TEST_F(CrmCheckCommandTest, ProvesInATrialOrgOnly) {
  const auto refused = cli_.run({"crm", "check", "--prove"});
  EXPECT_EQ(refused.code, 78);
  EXPECT_THAT(refused.err, HasSubstr("neither a sandbox nor a Developer Edition org"));
  sql("UPDATE crm_organization SET issandbox = 1");
  sql("INSERT INTO crm_permission_set_assignment (assigneeid, permissionsetname) VALUES ('" + user_ +
      "', 'Admin')");
  const auto proven = cli_.run({"crm", "check", "--prove"});
  EXPECT_EQ(proven.code, 0) << proven.out << proven.err;
  EXPECT_THAT(proven.out, AllOf(HasSubstr("holds         two_writers: "), HasSubstr("mode left: guarded")));
}

TEST_F(CrmCheckCommandTest, ARefusedSignInIsNamed) {
  server_.with_org([](Org& org) { org.set("client_secret", "another"); });
  const auto result = cli_.run({"crm", "check"});
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("refuses the sign-in"));
}

}  // namespace
}  // namespace giftsync::cli
