// Which opportunity is chosen, and why not the others: tables over the pure function (MATCH-13, MATCH-15).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "matching/choice.h"

namespace giftsync::matching {
namespace {

using crm::Opportunity;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const crm::OpportunityMatching kRules{true, {"CloseDate", false}};

TEST(OpportunityChoice, ChoosesTheFirstOpenOneWithStageAndReason) {
  const std::vector<crm::Opportunity> open{{"0061", "Generators", "0012", "Closing", "2026-01-05"},
                                           {"0062", "", "0013", "New", "2026-03-01"}};
  const OpportunityChoice choice = choose_opportunity("0011", open, kRules);
  EXPECT_EQ(choice.opportunity_id, "0061");
  EXPECT_EQ(choice.account_id, "0011") << "the contact's own account counts";
  EXPECT_EQ(choice.stage, "Closing");
  EXPECT_THAT(choice.reason, AllOf(HasSubstr("0061 (Generators), stage Closing"), HasSubstr("2 open ones"),
                                   HasSubstr("0062"), HasSubstr("2026-03-01 ranks below 2026-01-05")));
}

TEST(OpportunityChoice, UsesTheOpportunitysAccountWhenTheContactHasNone) {
  const std::vector<crm::Opportunity> open{{"0061", "", "0012", "", ""}};
  const OpportunityChoice choice = choose_opportunity("", open, kRules);
  EXPECT_EQ(choice.account_id, "0012");
  EXPECT_THAT(choice.reason,
              AllOf(HasSubstr("the only open one"), HasSubstr("account is the opportunity's")));
}

TEST(OpportunityChoice, KeepsTheContactsAccountWhenNoneIsOpenOrMatchingIsOff) {
  const OpportunityChoice none = choose_opportunity("0011", {}, kRules);
  EXPECT_EQ(none.opportunity_id, "");
  EXPECT_EQ(none.account_id, "0011");
  EXPECT_THAT(none.reason, HasSubstr("no open opportunity"));
  const std::vector<crm::Opportunity> open{{"0061", "", "0012", "", ""}};
  const OpportunityChoice off = choose_opportunity("", open, {false, {"CloseDate", false}});
  EXPECT_EQ(off.opportunity_id, "");
  EXPECT_EQ(off.account_id, "");
  EXPECT_THAT(off.reason, HasSubstr("is off"));
}

TEST(Explanation, ExplainsWhyEachCandidateWasNotChosen) {
  const auto lead = [](const char* id, bool converted, const char* order) {
    return crm::Candidate{id, "", "", converted, "Email", order};
  };
  const std::vector<crm::Candidate> leads{lead("1", true, "9"), lead("2", false, "8"), lead("3", false, "8"),
                                          lead("4", false, "7"), lead("5", false, "")};
  EXPECT_THAT(explain_outcomes(leads, {"Score", true}, ""),
              ElementsAre("converted leads never match", "chosen", HasSubstr("same and its Id is higher"),
                          HasSubstr("Score 7 ranks below 8 (Score descending)"),
                          HasSubstr("empty, which comes last")));
  EXPECT_THAT(explain_outcomes(leads, {"Score", true}, "a contact matched by phone")[1],
              "a contact matched by phone");
}

TEST(Explanation, TheFingerprintChangesWithTheOpportunitySettings) {
  const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
  crm::MatchFields fields{person, person, "US"};
  const std::string before = match_settings_fingerprint(fields);
  fields.opportunity.order_by.descending = true;
  const std::string turned = match_settings_fingerprint(fields);
  fields.opportunity.enabled = false;
  EXPECT_NE(before, turned);
  EXPECT_NE(turned, match_settings_fingerprint(fields));
}

// MATCH-16
TEST(MatchChoice, ADeletedAccountIsNotLinked) {
  const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
  crm::Candidate contact{"0031", "", "0019", false, "Email", ""};
  contact.account_exists = false;
  const MatchChoice choice = choose({"ada@example.com", ""}, {{contact}, {}}, {}, {person, person, "US"});
  EXPECT_EQ(choice.contact_id, "0031");
  EXPECT_EQ(choice.account_id, "");
  EXPECT_THAT(choice.reason, HasSubstr("account 0019 is not in the CRM"));
}

}  // namespace
}  // namespace giftsync::matching
