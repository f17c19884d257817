// An org is described over HTTP and examined, while an admin takes away what giftsync needs.
#include "crm/salesforce/org/org_description.h"
#include "crm/salesforce/org/org_findings.h"
#include "platform/dependency_error.h"
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;
using Severity = Finding::Severity;

class OrgCheckTest : public SalesforceCrmTest {
 protected:
  OrgExpectations expected() {
    return {.names = ApiNames(OrgNames{}),
            .match_fields = match_fields(),
            .integration_user = user_,
            .has_tasks = true,
            .has_requests = true};
  }
  OrgFacts facts(const std::string& version = "62.0") {
    const ApiNames names{OrgNames{}};
    return describe_org(client_, {names, version, user_});
  }
  OrgReport report() { return check(facts(), expected()); }
  void change(const Json& change) {
    server_.with_org([&](Org& org) { org.change(change); });
  }
  void take_away(const std::string& field) {
    change({{"permission_set", "giftsync_Integration"}, {"field", field}, {"readable", false}});
  }
  static auto finding(Severity severity, const char* subject, const char* found) {
    return Contains(AllOf(Field(&Finding::severity, severity), Field(&Finding::subject, HasSubstr(subject)),
                          Field(&Finding::found, HasSubstr(found)),
                          Field(&Finding::remedy, testing::Not(""))));
  }
};

TEST_F(OrgCheckTest, AnOrgWithThePackageIsGuardedAndHasNoFaults) {
  const OrgReport found = report();
  EXPECT_EQ(found.mode, OrgMode::guarded) << found.reason;
  EXPECT_TRUE(found.offers_tasks);
  EXPECT_TRUE(found.offers_requests);
  for (const Finding& one : found.findings) EXPECT_EQ(one.severity, Severity::note) << to_text(one);
}

TEST_F(OrgCheckTest, ADescriptionNeedsFiveCallsOfTheQuota) {
  report();
  EXPECT_EQ(calls(), 5);
}

TEST_F(OrgCheckTest, AnAnswerThatIsTooLargeIsAskedForInParts) {
  server_.with_org([](Org& org) { org.set("describe_bytes", "2500000"); });
  const OrgReport found = report();
  EXPECT_EQ(found.mode, OrgMode::guarded) << found.reason;
  EXPECT_FALSE(found.has_faults());
  EXPECT_EQ(calls(), 7) << "nine descriptions are 22 MB, six of them 15";
  fault({{"kind", "answer"},
         {"status", 200},
         {"content_type", "application/json"},
         {"body", std::string(17'000'000, ' ')},
         {"path", "/composite"},
         {"times", 0}});
  EXPECT_THAT([&] { report(); }, testing::ThrowsMessage<giftsync::DependencyError>(
                                     AllOf(HasSubstr("answer has more than"), Not(HasSubstr("network")))));
}

TEST_F(OrgCheckTest, AMinimalProfileLeavesAllToThePermissionSet) {
  server_.with_org([](Org& org) { org.set("profile", "minimum"); });
  const OrgReport found = report();
  EXPECT_TRUE(found.offers_tasks);
  for (const Finding& one : found.findings) EXPECT_EQ(one.severity, Severity::note) << to_text(one);
  change({{"permission_set", "giftsync_Integration"}, {"without_user_permission", "ActivitiesAccess"}});
  EXPECT_THAT(report().findings, finding(Severity::fault, "tasks", "Access Activities"));
}

TEST_F(OrgCheckTest, ReadsTheFactsOfTheOrg) {
  const OrgFacts found = facts();
  EXPECT_EQ(found.organization_id, organization_);
  EXPECT_EQ(found.user.username, "integration@example.com");
  EXPECT_EQ(found.user.locale, "en_US");
  EXPECT_EQ(found.calls->limit, 15'000);
  EXPECT_EQ(found.versions.back(), "67.0");
  const FieldFacts* key = found.find("gift_record")->find("recipienttransactionid__c");
  ASSERT_NE(key, nullptr);
  EXPECT_TRUE(key->is_unique && key->is_external_id);
  EXPECT_THAT(found.view_all.value(), Contains("Contact"));
}

TEST_F(OrgCheckTest, AFieldsPermissionTakenAwayIsFound) {
  take_away("Gift_Record__c.Message__c");
  EXPECT_THAT(report().findings, finding(Severity::warning, "Gift_Record__c.Message__c", "may not see it"));
  EXPECT_EQ(report().mode, OrgMode::guarded);
  take_away("Gift_Record__c.RecipientTransactionId__c");
  EXPECT_EQ(report().mode, OrgMode::none);
  EXPECT_TRUE(report().has_faults());
}

TEST_F(OrgCheckTest, AFieldThatIsReadOnlyIsFoundAndLeftOut) {
  change({{"permission_set", "giftsync_Integration"},
          {"field", "Gift_Record__c.Item_Cost__c"},
          {"editable", false}});
  EXPECT_THAT(report().findings, finding(Severity::warning, "Item_Cost__c", "may not write it"));
  SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
  options.names.hide(unusable_fields(options.names, facts()));
  crm_ = make_salesforce_crm(client_, std::move(options));
  EXPECT_THAT(kinds({upsert(1, 1)}), testing::ElementsAre(Kind::created));
}

TEST_F(OrgCheckTest, ARestrictedPicklistIsFound) {
  change({{"object", "Gift_Record__c"},
          {"field", "RecipientTransactionStatus__c"},
          {"restricted", true},
          {"without_value", "refunded"}});
  EXPECT_THAT(report().findings,
              finding(Severity::fault, "RecipientTransactionStatus__c", "restricted and lacks refunded"));
}

TEST_F(OrgCheckTest, ADeactivatedRuleIsAFaultAndNoBareMode) {
  sql("UPDATE crm_validation_rule SET active = 0 WHERE validationname = 'Only_Newer'");
  EXPECT_EQ(report().mode, OrgMode::none);
  EXPECT_THAT(report().findings,
              finding(Severity::fault, "mode", "Only_Newer of Gift_Record__c is not active"));
}

TEST_F(OrgCheckTest, ADeactivatedRuleKeepsNothing) {
  write({upsert(1, 2)});
  const std::string path =
      "/services/data/v62.0/sobjects/Gift_Record__c/" + scalar("SELECT id FROM crm_gift_record");
  const auto overwrite = [&] {
    return client_.call({.method = "PATCH", .path = path, .body = R"({"Record_Version__c":1})"})->http.status;
  };
  EXPECT_EQ(overwrite(), 400);
  sql("UPDATE crm_validation_rule SET active = 0 WHERE validationname = 'Only_Newer'");
  EXPECT_EQ(overwrite(), 204);
}

TEST_F(OrgCheckTest, AnIdThatIsNotUniqueIsFound) {
  change({{"object", "Gift_Record__c"}, {"field", "RecipientTransactionId__c"}, {"unique", false}});
  EXPECT_THAT(report().reason, HasSubstr("is not unique"));
  change({{"object", "Task"}, {"field", "RecipientTransactionId__c"}, {"unique", false}});
  EXPECT_FALSE(report().offers_tasks);
}

TEST_F(OrgCheckTest, RowsThatTheUserDoesNotSeeAreFound) {
  change({{"permission_set", "giftsync_Integration"}, {"object", "Lead"}, {"view_all", false}});
  EXPECT_THAT(report().findings, finding(Severity::warning, "Lead", "\"no match\" may be false"));
}

TEST_F(OrgCheckTest, WithoutTheSetupTheModeIsUnknown) {
  change({{"permission_set", "giftsync_Integration"}, {"without_user_permission", "ViewSetup"}});
  const OrgReport found = report();
  EXPECT_EQ(found.mode, OrgMode::none);
  EXPECT_THAT(found.reason, HasSubstr("may not see the setup"));
  EXPECT_FALSE(facts().calls.has_value());
}

TEST_F(OrgCheckTest, AnOrgWithoutTheGuardFieldIsBare) {
  take_away("Gift_Record__c.Record_Version__c");
  OrgExpectations bare = expected();
  bare.is_bare = true;
  bare.has_requests = false;
  const OrgReport found = check(facts(), bare);
  EXPECT_EQ(found.mode, OrgMode::bare) << found.reason;
  EXPECT_FALSE(found.offers_requests);
  EXPECT_FALSE(found.has_faults());
  EXPECT_TRUE(report().has_faults()) << "guarded never becomes bare by itself";
}

TEST_F(OrgCheckTest, AnUnknownVersionIsNotAskedFurther) {
  const OrgFacts found = facts("99.0");
  EXPECT_TRUE(found.objects.empty());
  EXPECT_EQ(calls(), 0);
}

TEST_F(OrgCheckTest, AnOrgThatRefusesEveryCallIsNamed) {
  fault({{"kind", "refusal"},
         {"status", 403},
         {"code", "REQUEST_LIMIT_EXCEEDED"},
         {"message", "TotalRequests Limit exceeded."},
         {"times", 0}});
  try {
    report();
    FAIL() << "the description succeeded";
  } catch (const giftsync::DependencyError& error) {
    EXPECT_THAT(error.what(), HasSubstr("TotalRequests Limit exceeded."));
  }
}

}  // namespace
}  // namespace giftsync::salesforce
