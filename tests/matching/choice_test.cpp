// Whose gift is it: tables over the pure choice (Spec 6.4, design 3.2).
#include "matching/choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::matching {
namespace {

using schema::Candidate;
using schema::Candidates;
using testing::HasSubstr;
using testing::Not;

const schema::RecipientKeys kAda{"ada@example.com", "+16502530000"};

schema::MatchFields fields() {
  const schema::PersonMatchFields person{{"Email"}, {"Phone", "MobilePhone"}, {"LastModifiedDate", true}};
  return {person, person, "US"};
}

Candidate contact(const std::string& id, const std::string& account = "") {
  return {id, "Name of " + id, account, false, "Email", "2026-01-0" + id.substr(id.size() - 1)};
}
Candidate lead(const std::string& id, bool converted = false) {
  return {id, "", "", converted, "Email", ""};
}

TEST(Choice, AContactByEmailBringsItsAccount) {
  const Choice choice = choose(kAda, {{contact("0031", "0011")}, {}}, {}, fields());
  EXPECT_EQ(choice.contact_id, "0031");
  EXPECT_EQ(choice.account_id, "0011");
  EXPECT_EQ(choice.lead_id, "");
  EXPECT_THAT(choice.reason,
              HasSubstr("Contact 0031 (Name of 0031): Email equals ada@example.com. Nobody else matched."));
}

TEST(Choice, PhoneCountsOnlyWhenNoContactMatchedByEmail) {
  EXPECT_EQ(choose(kAda, {{contact("0032")}, {contact("0031")}}, {}, fields()).contact_id, "0032");
  const Choice by_phone = choose(kAda, {{}, {contact("0031")}}, {}, fields());
  EXPECT_EQ(by_phone.contact_id, "0031");
  EXPECT_THAT(by_phone.reason, HasSubstr("+16502530000"));
}

TEST(Choice, AContactBeatsEveryLead) {
  const Choice choice = choose(kAda, {{}, {contact("0031")}}, {{lead("00Q1")}, {}}, fields());
  EXPECT_EQ(choice.contact_id, "0031");
  EXPECT_EQ(choice.lead_id, "");
}

TEST(Choice, ALeadWithoutContact) {
  const Choice choice = choose(kAda, {}, {{lead("00Q1"), lead("00Q2")}, {}}, fields());
  EXPECT_EQ(choice.lead_id, "00Q1");
  EXPECT_EQ(choice.contact_id, "");
  EXPECT_EQ(choice.account_id, "");
  EXPECT_THAT(choice.reason, HasSubstr("No contact matched. Lead 00Q1"));
}

TEST(Choice, ConvertedLeadsNeverMatch) {
  const Choice next = choose(kAda, {}, {{lead("00Q1", true), lead("00Q2")}, {}}, fields());
  EXPECT_EQ(next.lead_id, "00Q2");
  const Choice by_phone = choose(kAda, {}, {{lead("00Q1", true)}, {lead("00Q3")}}, fields());
  EXPECT_EQ(by_phone.lead_id, "00Q3")
      << "a converted lead by e-mail must not keep phones from being compared";
  const Choice nobody = choose(kAda, {}, {{lead("00Q1", true)}, {}}, fields());
  EXPECT_FALSE(nobody.matched());
  EXPECT_THAT(nobody.reason, HasSubstr("Converted leads that would have matched: 1."));
}

TEST(Choice, TakesTheOrderAsItComesAndNamesTheRunnerUp) {
  const Choice choice = choose(kAda, {{contact("0039"), contact("0035"), contact("0031")}, {}}, {}, fields());
  EXPECT_EQ(choice.contact_id, "0039");
  EXPECT_THAT(choice.reason, HasSubstr("3 matched, ordered by LastModifiedDate descending, then Id"));
  EXPECT_THAT(choice.reason, HasSubstr("0035"));
  EXPECT_THAT(choice.reason, Not(HasSubstr("Name of 0031")));
}

TEST(Choice, NobodySaysWhatWasCompared) {
  const Choice choice = choose(kAda, {}, {}, fields());
  EXPECT_FALSE(choice.matched());
  EXPECT_THAT(choice.reason, HasSubstr("no contact (Email; Phone, MobilePhone) and no lead (Email; Phone, "
                                       "MobilePhone) has ada@example.com or +16502530000"));
}

TEST(Choice, NobodyNamesOnlyWhatThereWasToCompare) {
  EXPECT_THAT(
      choose({"", kAda.phone_key}, {}, {}, fields()).reason,
      HasSubstr("no contact (Phone, MobilePhone) and no lead (Phone, MobilePhone) has +16502530000."));
  EXPECT_THAT(choose({"", ""}, {}, {}, fields()).reason, HasSubstr("neither an e-mail address nor a phone"));
}

TEST(Choice, ATieIsSaidToBeOne) {
  Candidate first = contact("0031");
  Candidate second = contact("0032");
  first.order_value = second.order_value = "";
  EXPECT_THAT(choose(kAda, {{first, second}, {}}, {}, fields()).reason,
              HasSubstr("a tie, both have LastModifiedDate empty, so by its Id it stands before 0032"));
  first.order_value = "2026-01-02";
  EXPECT_THAT(choose(kAda, {{first, second}, {}}, {}, fields()).reason,
              HasSubstr("LastModifiedDate 2026-01-02 stands before 0032"));
}

TEST(Choice, IsNeverBothALeadAndAContact) {
  const std::vector<std::vector<Candidate>> contact_lists{
      {}, {contact("0031")}, {contact("0032"), contact("0033")}};
  const std::vector<std::vector<Candidate>> lead_lists{
      {}, {lead("00Q1")}, {lead("00Q2", true), lead("00Q3")}};
  for (const auto& contacts_by_email : contact_lists) {
    for (const auto& contacts_by_phone : contact_lists) {
      for (const auto& leads_by_email : lead_lists) {
        for (const auto& leads_by_phone : lead_lists) {
          const Choice choice = choose(kAda, {contacts_by_email, contacts_by_phone},
                                       {leads_by_email, leads_by_phone}, fields());
          EXPECT_TRUE(choice.contact_id.empty() || choice.lead_id.empty());
          const bool anybody = !contacts_by_email.empty() || !contacts_by_phone.empty() ||
                               !leads_by_email.empty() || !leads_by_phone.empty();
          EXPECT_EQ(choice.matched(), anybody);
        }
      }
    }
  }
}

TEST(Fingerprint, ChangesWithEverySetting) {
  const std::string before = fingerprint(fields());
  EXPECT_EQ(before.size(), 8u);
  EXPECT_EQ(before, fingerprint(fields()));
  auto changed = fields();
  changed.lead.order_by.descending = false;
  EXPECT_NE(fingerprint(changed), before);
  changed = fields();
  changed.contact.email_fields.push_back("Other_Email");
  EXPECT_NE(fingerprint(changed), before);
  changed = fields();
  changed.default_region = "DE";
  EXPECT_NE(fingerprint(changed), before);
}

}  // namespace
}  // namespace giftsync::matching
