// Properties of the choice of contact or lead over many random lists of candidates (MATCH-4, MATCH-5,
// MATCH-7).
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "matching/choice.h"

namespace giftsync::matching {
namespace {

using crm::Candidate;
using crm::Candidates;

const crm::RecipientMatchKeys kRecipient{"ada@example.com", "+16502530000"};

crm::MatchFields fields() {
  const crm::PersonMatchFields person{{"Email"}, {"Phone"}, {"LastModifiedDate", true}};
  return {person, person, "US"};
}

/// Up to five candidates with ids of their own, as a CRM orders them; leads may be converted.
std::vector<Candidate> some(std::mt19937& random, const std::string& prefix, bool are_leads) {
  std::vector<Candidate> candidates;
  const auto count = std::uniform_int_distribution<int>(0, 5)(random);
  for (int i = 0; i < count; ++i) {
    Candidate one{prefix + std::to_string(i), "Name", "", false, "Email", std::to_string(9 - i)};
    if (are_leads)
      one.converted = random() % 3 == 0;
    else if (random() % 2 == 0)
      one.account_id = "001" + std::to_string(i);
    candidates.push_back(one);
  }
  return candidates;
}

struct Case {
  Candidates contacts;
  Candidates leads;

  MatchChoice chosen() const { return choose(kRecipient, contacts, leads, fields()); }
};

Case any_case(std::mt19937& random) {
  return {{some(random, "003e", false), some(random, "003p", false)},
          {some(random, "00Qe", true), some(random, "00Qp", true)}};
}

bool is_same(const MatchChoice& a, const MatchChoice& b) {
  return a.contact_id == b.contact_id && a.lead_id == b.lead_id && a.account_id == b.account_id;
}

class EachCase : public testing::Test {
 protected:
  template <class Property>
  void for_each_case(Property&& property) {
    std::mt19937 random(20'261'128);
    for (int i = 0; i < 2'000; ++i) {
      const Case one = any_case(random);
      SCOPED_TRACE(i);
      property(one, random);
      if (HasFailure()) return;
    }
  }
};

TEST_F(EachCase, AContactWinsOverEveryLeadAndTheFirstOfAListOverAllBehindIt) {
  for_each_case([](const Case& one, std::mt19937&) {
    const MatchChoice choice = one.chosen();
    const auto is_open = [](const Candidate& lead) { return !lead.converted; };
    const auto first_open = [&](const std::vector<Candidate>& leads) {
      const auto at = std::ranges::find_if(leads, is_open);
      return at == leads.end() ? std::string() : at->id;
    };
    const auto& contacts = one.contacts;
    if (!contacts.empty()) {
      const auto& list = contacts.by_email.empty() ? contacts.by_phone : contacts.by_email;
      EXPECT_EQ(choice.contact_id, list.front().id);
      EXPECT_EQ(choice.account_id, list.front().account_id);
      EXPECT_EQ(choice.lead_id, "");
      return;
    }
    const std::string by_email = first_open(one.leads.by_email);
    EXPECT_EQ(choice.lead_id, by_email.empty() ? first_open(one.leads.by_phone) : by_email);
    EXPECT_EQ(choice.contact_id, "");
  });
}

TEST_F(EachCase, ACandidateBehindTheChosenOneChangesNothingWhetherItComesOrGoes) {
  for_each_case([](const Case& one, std::mt19937&) {
    const MatchChoice choice = one.chosen();
    Case more = one;
    for (auto* list : {&more.contacts.by_email, &more.contacts.by_phone}) {
      if (!list->empty()) list->push_back({"003z", "Name", "001z", false, "Email", "0"});
    }
    EXPECT_TRUE(is_same(more.chosen(), choice));
    Case fewer = one;
    for (auto* list : {&fewer.contacts.by_email, &fewer.contacts.by_phone}) {
      if (list->size() > 1) list->pop_back();
    }
    EXPECT_TRUE(is_same(fewer.chosen(), choice));
  });
}

TEST_F(EachCase, TheSameCandidatesGiveTheSameChoiceAndTheSameReason) {
  for_each_case([](const Case& one, std::mt19937&) {
    const MatchChoice first = one.chosen();
    const MatchChoice second = one.chosen();
    EXPECT_TRUE(is_same(first, second));
    EXPECT_EQ(first.reason, second.reason);
    EXPECT_NE(first.reason, "");
    // The reason names the chosen contact or lead.
    const std::string id = first.contact_id.empty() ? first.lead_id : first.contact_id;
    EXPECT_NE(first.reason.find(id), std::string::npos);
  });
}

}  // namespace
}  // namespace giftsync::matching
