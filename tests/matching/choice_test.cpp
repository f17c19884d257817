// The choice of contact or lead, as tables over the pure function (MATCH-4, MATCH-20).
#include "matching/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::matching {
namespace {

using crm::Candidate;
using crm::Candidates;
using testing::HasSubstr;
using testing::Not;

const crm::RecipientMatchKeys kRecipient{"ada@example.com", "+16502530000"};

crm::MatchFields fields() {
  const crm::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
  return {person, person, "US"};
}

crm::Candidate contact(const std::string& id, const std::string& account = "") {
  return {id, "Name of " + id, account, false, "Email", "2026-01-0" + id.substr(id.size() - 1)};
}
crm::Candidate lead(const std::string& id, bool converted = false) {
  return {id, "", "", converted, "Email", ""};
}

TEST(MatchChoice, AContactMatchedByEmailSetsItsAccount) {
  const MatchChoice choice = choose(kRecipient, {{contact("0031", "0011")}, {}}, {}, fields());
  EXPECT_EQ(choice.contact_id, "0031");
  EXPECT_EQ(choice.account_id, "0011");
  EXPECT_EQ(choice.lead_id, "");
  EXPECT_THAT(choice.reason,
              HasSubstr("Contact 0031 (Name of 0031): Email equals ada@example.com. No other matched."));
}

TEST(MatchChoice, PhoneCountsOnlyWhenNoContactMatchedByEmail) {
  EXPECT_EQ(choose(kRecipient, {{contact("0032")}, {contact("0031")}}, {}, fields()).contact_id, "0032");
  const MatchChoice by_phone = choose(kRecipient, {{}, {contact("0031")}}, {}, fields());
  EXPECT_EQ(by_phone.contact_id, "0031");
  EXPECT_THAT(by_phone.reason, HasSubstr("+16502530000"));
}

TEST(MatchChoice, AContactIsPreferredOverEveryLead) {
  const MatchChoice choice = choose(kRecipient, {{}, {contact("0031")}}, {{lead("00Q1")}, {}}, fields());
  EXPECT_EQ(choice.contact_id, "0031");
  EXPECT_EQ(choice.lead_id, "");
}

// MATCH-5
TEST(MatchChoice, ALeadIsChosenWhenNoContactMatches) {
  const MatchChoice choice = choose(kRecipient, {}, {{lead("00Q1"), lead("00Q2")}, {}}, fields());
  EXPECT_EQ(choice.lead_id, "00Q1");
  EXPECT_EQ(choice.contact_id, "");
  EXPECT_EQ(choice.account_id, "");
  EXPECT_THAT(choice.reason, HasSubstr("No contact matched. Lead 00Q1"));
}

// MATCH-7
TEST(MatchChoice, ConvertedLeadsNeverMatch) {
  const MatchChoice next = choose(kRecipient, {}, {{lead("00Q1", true), lead("00Q2")}, {}}, fields());
  EXPECT_EQ(next.lead_id, "00Q2");
  const MatchChoice by_phone = choose(kRecipient, {}, {{lead("00Q1", true)}, {lead("00Q3")}}, fields());
  EXPECT_EQ(by_phone.lead_id, "00Q3")
      << "a converted lead by e-mail must not keep phones from being compared";
  const MatchChoice no_match = choose(kRecipient, {}, {{lead("00Q1", true)}, {}}, fields());
  EXPECT_FALSE(no_match.matched());
  EXPECT_THAT(
      no_match.reason,
      HasSubstr("Converted leads that would have matched: 1. To link a gift to the contact that such a "
                "lead became: \"giftsyncctl gift link\"."));
}

TEST(MatchChoice, KeepsTheGivenOrderAndNamesTheSecondCandidate) {
  const MatchChoice choice =
      choose(kRecipient, {{contact("0039"), contact("0035"), contact("0031")}, {}}, {}, fields());
  EXPECT_EQ(choice.contact_id, "0039");
  EXPECT_THAT(choice.reason, HasSubstr("3 matched, ordered by LastModifiedDate descending, then Id"));
  EXPECT_THAT(choice.reason, HasSubstr("0035"));
  EXPECT_THAT(choice.reason, Not(HasSubstr("Name of 0031")));
}

// MATCH-9
TEST(MatchChoice, NoMatchNamesTheComparedFields) {
  const MatchChoice choice = choose(kRecipient, {}, {}, fields());
  EXPECT_FALSE(choice.matched());
  EXPECT_THAT(choice.reason, HasSubstr("no contact (Email; Phone, MobilePhone) and no lead (Email; Phone, "
                                       "MobilePhone) has ada@example.com or +16502530000"));
}

TEST(MatchChoice, NoMatchNamesOnlyFieldsWithAValueToCompare) {
  EXPECT_THAT(
      choose({"", kRecipient.phone_key}, {}, {}, fields()).reason,
      HasSubstr("no contact (Phone, MobilePhone) and no lead (Phone, MobilePhone) has +16502530000."));
  EXPECT_THAT(choose({"", ""}, {}, {}, fields()).reason, HasSubstr("neither an e-mail address nor a phone"));
  EXPECT_THAT(choose({"", "", true}, {}, {}, fields()).reason, HasSubstr("The phone number is not compared"));
  EXPECT_THAT(choose({"a@x.example", "", true}, {}, {}, fields()).reason,
              HasSubstr("has a@x.example. The phone number is not compared: it is not valid"));
}

TEST(MatchChoice, ATieIsReported) {
  crm::Candidate first = contact("0031");
  crm::Candidate second = contact("0032");
  first.order_value = second.order_value = "";
  EXPECT_THAT(choose(kRecipient, {{first, second}, {}}, {}, fields()).reason,
              HasSubstr("a tie, both have LastModifiedDate empty, so its lower Id comes before 0032"));
  first.order_value = "2026-01-02";
  EXPECT_THAT(choose(kRecipient, {{first, second}, {}}, {}, fields()).reason,
              HasSubstr("LastModifiedDate 2026-01-02 comes before 0032"));
}

// MATCH-33
TEST(MatchChoice, WarnsOfNumbersThatAreOrderedAsText) {
  crm::Candidate first = contact("0031");
  crm::Candidate second = contact("0032");
  const auto reason = [&](const std::string& winner, const std::string& next, bool text) {
    first.order_value = winner;
    second.order_value = next;
    first.order_is_text = second.order_is_text = text;
    return choose(kRecipient, {{first, second}, {}}, {}, fields()).reason;
  };
  EXPECT_THAT(reason("9", "10", true), HasSubstr("these numbers are ordered as text, 10 before 9"));
  EXPECT_THAT(reason("10", "9", false), Not(HasSubstr("as text")));
  EXPECT_THAT(reason("high", "9", true), Not(HasSubstr("as text")));
  EXPECT_THAT(reason("9", "", true), Not(HasSubstr("as text")));
  EXPECT_THAT(reason("9", "9", true), Not(HasSubstr("as text")));
}

// MATCH-6
TEST(MatchChoice, NeverChoosesBothALeadAndAContact) {
  const std::vector<std::vector<crm::Candidate>> contact_lists{
      {}, {contact("0031")}, {contact("0032"), contact("0033")}};
  const std::vector<std::vector<crm::Candidate>> lead_lists{
      {}, {lead("00Q1")}, {lead("00Q2", true), lead("00Q3")}};
  for (const auto& contacts_by_email : contact_lists) {
    for (const auto& contacts_by_phone : contact_lists) {
      for (const auto& leads_by_email : lead_lists) {
        for (const auto& leads_by_phone : lead_lists) {
          const MatchChoice choice = choose(kRecipient, {contacts_by_email, contacts_by_phone},
                                            {leads_by_email, leads_by_phone}, fields());
          EXPECT_TRUE(choice.contact_id.empty() || choice.lead_id.empty());
          const bool has_candidate = !contacts_by_email.empty() || !contacts_by_phone.empty() ||
                                     !leads_by_email.empty() || !leads_by_phone.empty();
          EXPECT_EQ(choice.matched(), has_candidate);
        }
      }
    }
  }
}

TEST(Fingerprint, ChangesWithEverySetting) {
  const std::string before = match_settings_fingerprint(fields());
  EXPECT_EQ(before.size(), 8u);
  EXPECT_EQ(before, match_settings_fingerprint(fields()));
  auto changed = fields();
  changed.lead.order_by.descending = false;
  EXPECT_NE(match_settings_fingerprint(changed), before);
  changed = fields();
  changed.contact.email_fields.push_back("Other_Email");
  EXPECT_NE(match_settings_fingerprint(changed), before);
  changed = fields();
  changed.default_region = "DE";
  EXPECT_NE(match_settings_fingerprint(changed), before);
}

}  // namespace
}  // namespace giftsync::matching
