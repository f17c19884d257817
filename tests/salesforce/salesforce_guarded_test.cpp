// Guarded mode while an admin takes away what protects gift records.
#include "crm/salesforce/org/org_description.h"
#include "crm/salesforce/org/write_mode.h"
#include "tests/salesforce/bare_org_fixture.h"

namespace giftsync::salesforce {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class SalesforceGuardedTest : public SalesforceCrmTest {
 protected:
  SalesforceGuardedTest() { crm_ = make_watched(); }

  std::unique_ptr<crm::Crm> make_watched() {
    SalesforceCrmOptions options{.names = ApiNames(OrgNames{}), .match_fields = match_fields()};
    options.names.skip_field(GiftField::created_by);
    options.mode_facts = facts();
    options.clock = [this] { return UtcMillis{system_now().value + crm_offset_}; };
    return make_salesforce_crm(client_, std::move(options));
  }
  void activate(bool is_active) {
    sql(std::string("UPDATE crm_validation_rule SET active = ") + (is_active ? "1" : "0") +
        " WHERE validationname = 'Only_Newer'");
  }
  std::string refusal() {
    try {
      write({upsert(9, 1)});
    } catch (const giftsync::DependencyPause& pause) {
      return pause.what();
    }
    ADD_FAILURE() << "the write succeeded";
    return "";
  }
};

// ORG-8
TEST_F(SalesforceGuardedTest, ADeactivatedRulePausesAndAnActiveOneResumes) {
  EXPECT_THAT(kinds({upsert(1, 1)}), ElementsAre(Kind::created));
  crm_offset_ += kFirstLookMillis;
  EXPECT_THAT(kinds({upsert(2, 1)}), ElementsAre(Kind::created));
  activate(false);
  EXPECT_THAT(kinds({upsert(3, 1)}), ElementsAre(Kind::created)) << "the org is looked at once an hour";
  crm_offset_ += kHourMillis;
  EXPECT_THAT(refusal(),
              AllOf(HasSubstr("does not protect gift records any more"),
                    HasSubstr("Only_Newer of Gift_Record__c is not active"), HasSubstr("crm setup")));
  const int before = calls();
  refusal();
  EXPECT_EQ(calls(), before) << "no call during the pause";
  activate(true);
  crm_offset_ += 5 * kMinuteMillis;
  EXPECT_THAT(kinds({upsert(4, 1)}), ElementsAre(Kind::created));
}

// ORG-8
TEST_F(SalesforceGuardedTest, GuardedNeverBecomesBareByItself) {
  kinds({upsert(1, 1)});
  crm_offset_ += kFirstLookMillis;
  kinds({upsert(1, 2)});
  server_.with_org([](Org& org) {
    org.change({{"permission_set", "giftsync_Integration"},
                {"field", "Gift_Record__c.Record_Version__c"},
                {"readable", false}});
  });
  crm_offset_ += kHourMillis;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("sees no field Gift_Record__c.Record_Version__c"),
                               testing::Not(HasSubstr("mode: bare"))));
  crm_ = make_watched();
  EXPECT_THAT(refusal(), HasSubstr("any more")) << "what was found is stored, also for a process that starts";
}

TEST_F(SalesforceGuardedTest, AnOrgWithThePackageOfAnotherOwnerIsRefusedWithBothWays) {
  server_.with_org([](Org& org) { org.deploy(tests::fake_org::foreign_package(org.files(), "thx")); });
  SalesforceCrmOptions options{.names = ApiNames({.name_space = "thx"}), .match_fields = match_fields()};
  options.mode_facts = facts();
  options.clock = [this] { return UtcMillis{system_now().value + crm_offset_}; };
  crm_ = make_salesforce_crm(client_, std::move(options));
  EXPECT_THROW(write({upsert(1, 1)}), giftsync::DependencyPause) << "the org does not have the version";
  crm_offset_ += kFirstLookMillis;
  EXPECT_THAT(refusal(), AllOf(HasSubstr("crm setup"), HasSubstr("set crm.salesforce.mode: bare")));
}

TEST_F(SalesforceGuardedTest, ALookCostsTwoCallsAndIsSharedThroughTheStore) {
  kinds({upsert(1, 1)});
  EXPECT_EQ(calls(), 1) << "a process begins with its gifts";
  crm_offset_ += kFirstLookMillis;
  kinds({upsert(2, 1)});
  EXPECT_EQ(calls(), 4);
  crm_ = make_watched();
  kinds({upsert(3, 1)});
  EXPECT_EQ(calls(), 5);
}

TEST_F(SalesforceGuardedTest, ACheckEndsThePauseAtOnce) {
  kinds({upsert(1, 1)});
  activate(false);
  crm_offset_ += kFirstLookMillis;
  refusal();
  activate(true);
  const ApiNames names{OrgNames{}};
  const UtcMillis now{system_now().value + crm_offset_};
  store_mode(facts(), describe_org(client_, {names, "62.0", user_}), names, now);
  EXPECT_THAT(kinds({upsert(2, 1)}), ElementsAre(Kind::created));
}

TEST_F(SalesforceGuardedTest, RulesThatTheUserMayNotSeeCountAsMissing) {
  server_.with_org([](Org& org) {
    org.change({{"permission_set", "giftsync_Integration"}, {"without_user_permission", "ViewSetup"}});
  });
  kinds({upsert(1, 1)});
  crm_offset_ += kFirstLookMillis;
  EXPECT_THAT(refusal(), HasSubstr("may not see the setup"));
}

}  // namespace
}  // namespace giftsync::salesforce
