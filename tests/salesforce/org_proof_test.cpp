// What giftsync believes of Salesforce is tried in an org, in which each belief can also be wrong.
#include "crm/salesforce/org/org_proof.h"

#include <algorithm>
#include <functional>
#include <ostream>

#include "crm/salesforce/org/org_description.h"
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {
namespace {

using Result = ProofStep::Result;

class OrgProofTest : public SalesforceCrmTest {
 protected:
  void SetUp() override {
    sql("INSERT INTO crm_permission_set_assignment (assigneeid, permissionsetname) VALUES ('" + user_ +
        "', 'Admin')");
  }
  OrgProof prove() {
    return prove_org(client_, {.names = names_,
                               .api_version = "62.0",
                               .transaction = 9'000'000'000'000'000,
                               .rounds = 20,
                               .pause = [this](std::int64_t millis) {
                                 server_.with_org([&](Org& org) { org.advance(millis); });
                               }});
  }
  static Result result(const OrgProof& proof, std::string_view name) {
    const auto step = std::ranges::find(proof.steps, name, &ProofStep::name);
    EXPECT_NE(step, proof.steps.end()) << name;
    return step == proof.steps.end() ? Result::unknown : step->result;
  }
  ApiNames names_{OrgNames{}};
};

TEST_F(OrgProofTest, EveryBeliefHoldsInTheFakeOrgAndNothingIsLeft) {
  const OrgProof proof = prove();
  for (const ProofStep& step : proof.steps)
    EXPECT_EQ(step.result, Result::holds) << step.name << ": " << step.found;
  EXPECT_EQ(proof.mode_left, OrgMode::guarded);
  EXPECT_TRUE(proof.offers_tasks && proof.offers_requests);
  EXPECT_TRUE(proof.left_records.empty()) << proof.left_records.front();
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE isdeleted = 0"), "0");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_task WHERE isdeleted = 0"), "0");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_request_record WHERE isdeleted = 0"), "0");
}

struct Disproof {
  const char* step;
  std::function<void(tests::fake_org::Org&)> change;
  OrgMode mode_left;
  bool offers_tasks;
  bool offers_requests;
};
void PrintTo(const Disproof& one, std::ostream* out) {
  *out << one.step;
}
std::function<void(tests::fake_org::Org&)> setting(const char* name) {
  return [name](tests::fake_org::Org& org) { org.set(name, "true"); };
}
std::function<void(tests::fake_org::Org&)> without_unique(const char* object, const char* field) {
  return [object, field](tests::fake_org::Org& org) {
    org.change({{"object", object}, {"field", field}, {"unique", false}});
  };
}
std::function<void(tests::fake_org::Org&)> without_rule(const char* name) {
  return [name](tests::fake_org::Org& org) {
    org.database().run("UPDATE crm_validation_rule SET active = 0 WHERE validationname = ?", {name});
  };
}

class DisprovenTest : public OrgProofTest, public testing::WithParamInterface<Disproof> {};

TEST_P(DisprovenTest, NamesTheConsequenceAndWhatIsLeft) {
  server_.with_org(GetParam().change);
  const OrgProof proof = prove();
  EXPECT_EQ(result(proof, GetParam().step), Result::does_not_hold);
  EXPECT_EQ(proof.mode_left, GetParam().mode_left);
  EXPECT_EQ(proof.offers_tasks, GetParam().offers_tasks);
  EXPECT_EQ(proof.offers_requests, GetParam().offers_requests);
  EXPECT_TRUE(proof.has_failed());
  for (const ProofStep& step : proof.steps)
    EXPECT_EQ(step.consequence.empty(), step.result == Result::holds) << step.name;
}

INSTANTIATE_TEST_SUITE_P(
    Beliefs, DisprovenTest,
    testing::Values(Disproof{"version_rule", without_rule("Only_Newer"), OrgMode::bare, true, false},
                    Disproof{"request_guard", without_rule("As_Read"), OrgMode::guarded, true, false},
                    Disproof{"duplicate_names_the_record",
                             without_unique("Gift_Record__c", "RecipientTransactionId__c"), OrgMode::none,
                             true, false},
                    Disproof{"unique_task", without_unique("Task", "RecipientTransactionId__c"),
                             OrgMode::guarded, false, true},
                    Disproof{"trimming", setting("keeps_white_space"), OrgMode::guarded, true, true},
                    Disproof{"recycle_bin", setting("recycle_bin_is_unique"), OrgMode::guarded, true, true}),
    [](const auto& one) { return std::string(one.param.step); });

/// A field of texts keeps them.
TEST_F(OrgProofTest, TimesThatKeepTheirMillisecondsAreNoticed) {
  names_ = ApiNames({.columns = {{"gift_record.RecipientTransactionCreatedAt", "Deal_Stage__c"}}});
  const OrgProof proof = prove();
  EXPECT_EQ(result(proof, "whole_seconds"), Result::does_not_hold);
  EXPECT_EQ(proof.mode_left, OrgMode::guarded);
}

/// A rule that sees an outdated prior value under two writers: here one that lets the last version but one
/// pass.
TEST_F(OrgProofTest, TwoWritersThatOverwriteEachOtherAreNoticed) {
  server_.with_org([](Org& org) {
    org.database().run("UPDATE crm_validation_rule SET active = 0 WHERE validationname = 'Only_Newer'");
    org.faults().add({{"kind", "rule"},
                      {"object", "Gift_Record__c"},
                      {"times", 0},
                      {"formula", "AND(NOT(ISNEW()), ISCHANGED(Record_Version__c), Record_Version__c < 2)"},
                      {"message", "GIFTSYNC:OLDER the record has a newer version."}});
  });
  bool is_noticed = false;
  for (int tries = 0; tries < 20 && !is_noticed; ++tries) {
    const OrgProof proof = prove();
    EXPECT_EQ(result(proof, "version_rule"), Result::holds);
    is_noticed = result(proof, "two_writers") == Result::does_not_hold;
    if (!is_noticed) continue;
    EXPECT_EQ(proof.mode_left, OrgMode::bare);
  }
  EXPECT_TRUE(is_noticed);
}

TEST_F(OrgProofTest, RecordsThatTheUserMayNotDeleteAreListed) {
  sql("DELETE FROM crm_permission_set_assignment WHERE permissionsetid = (SELECT id FROM crm_permission_set "
      "WHERE "
      "name = 'Admin')");
  const OrgProof proof = prove();
  EXPECT_EQ(result(proof, "recycle_bin"), Result::unknown);
  EXPECT_FALSE(proof.left_records.empty());
}

TEST_F(OrgProofTest, OnlySandboxesAndDeveloperOrgsAreTried) {
  EXPECT_FALSE(is_trial_org({.edition = "Enterprise Edition"}));
  EXPECT_TRUE(is_trial_org({.edition = "Developer Edition"}));
  EXPECT_TRUE(is_trial_org({.edition = "Enterprise Edition", .is_sandbox = true}));
}

}  // namespace
}  // namespace giftsync::salesforce
