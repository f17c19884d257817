// Which requests wait for a person: each condition of a rule as a table.
#include "sync/access/approval_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace giftsync::sync {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// 10 gifts of 5.00 of ana@example.com by the key gsk_live_abcdefg at endpoint A.
store::NewGiftRequest request() {
  store::NewGiftRequest asked;
  asked.request.gift = {7};
  asked.request.costs.item = Money{400};
  asked.request.costs.transaction_fee = Money{100};
  asked.request.sender_email = "Ana@Example.com";
  asked.request.credential_prefix = "gsk_live_abcdefg";
  asked.recipients.assign(10, {"ada@example.org", "", "", "Thanks"});
  return asked;
}

bool holds(const ApprovalRule& rule, const store::NewGiftRequest& asked, const std::string& new_domain = {}) {
  return !hold_reasons(std::span(&rule, 1), asked, new_domain).empty();
}

// covers: GUARD-24
TEST(ApprovalRules, EachConditionIsMetExactly) {
  const store::NewGiftRequest asked = request();
  struct Row {
    const char* what;
    ApprovalRule rule;
    bool holds;
  };
  for (const Row& row : {
           Row{"amount equal", {.amount_above = Money{5000}}, false},
           Row{"amount above", {.amount_above = Money{4999}}, true},
           Row{"recipients equal", {.recipients_above = 10}, false},
           Row{"recipients above", {.recipients_above = 9}, true},
           Row{"item", {.items = {{7}, {8}}}, true},
           Row{"other item", {.items = {{8}}}, false},
           Row{"account in another spelling", {.accounts = {"ana@example.com"}}, true},
           Row{"other account", {.accounts = {"bea@example.com"}}, false},
           Row{"key", {.credentials = {"gsk_live_abcdefg"}}, true},
           Row{"beginning of the key", {.credentials = {"gsk_live_abc"}}, true},
           Row{"other key", {.credentials = {"gsk_live_abd"}}, false},
           Row{"endpoint", {.endpoints = {GiftEndpoint::email}}, true},
           Row{"other endpoints", {.endpoints = {GiftEndpoint::urls, GiftEndpoint::crm}}, false},
           Row{"no new domain", {.first_gift_to_domain = true}, false},
           Row{"all conditions", {.amount_above = Money{100}, .recipients_above = 1, .items = {{7}}}, true},
           Row{"all but one", {.amount_above = Money{100}, .recipients_above = 10, .items = {{7}}}, false},
       })
    EXPECT_EQ(holds(row.rule, asked), row.holds) << row.what;
}

// covers: GUARD-24
TEST(ApprovalRules, EndpointsAreThoseOfTheCall) {
  const ApprovalRule of_urls{.endpoints = {GiftEndpoint::urls}};
  const ApprovalRule of_crm{.endpoints = {GiftEndpoint::crm}};
  store::NewGiftRequest asked = request();
  asked.request.mode = SendMode::urls;
  EXPECT_TRUE(holds(of_urls, asked));
  EXPECT_FALSE(holds(of_crm, asked));
  asked.request.mode = SendMode::email;
  asked.request.credential_prefix = "got_live_abcdefg";
  EXPECT_FALSE(holds(of_urls, asked));
  EXPECT_TRUE(holds(of_crm, asked));
  asked.request.credential_prefix.clear();
  asked.request_record = store::RequestRecordLink{"a1", 1, "", "", "", "", ""};
  EXPECT_FALSE(holds(of_crm, asked)) << "a request record has no endpoint";
  EXPECT_FALSE(holds({.endpoints = {GiftEndpoint::email}}, asked)) << "nor another one";
  asked.request_record.reset();
  EXPECT_TRUE(holds({.endpoints = {GiftEndpoint::email}}, asked)) << "validated for an account without a key";
  asked.request.mode = SendMode::urls;
  EXPECT_TRUE(holds(of_urls, asked));
}

TEST(ApprovalRules, ACostThatIsNotKnownIsAboveEachAmount) {
  store::NewGiftRequest asked = request();
  asked.request.costs.item.reset();
  EXPECT_TRUE(holds({.amount_above = Money{1'000'000}}, asked));
}

TEST(ApprovalRules, AReasonNamesTheRuleAndWhatMetIt) {
  const std::vector<ApprovalRule> rules{{.name = "large", .amount_above = Money{1000}, .recipients_above = 5},
                                        {.name = "small", .recipients_above = 500},
                                        {.name = "new", .first_gift_to_domain = true},
                                        {.name = "ana", .accounts = {"ana@example.com"}}};
  EXPECT_TRUE(asks_for_domains(rules));
  const auto reasons = hold_reasons(rules, request(), "example.org");
  ASSERT_THAT(reasons, SizeIs(3));
  EXPECT_EQ(reasons[0].code, "amount_above");
  EXPECT_THAT(reasons[0].message, HasSubstr("\"large\""));
  EXPECT_THAT(reasons[0].message, HasSubstr("50.00, more than 10.00"));
  EXPECT_THAT(reasons[0].message, HasSubstr("10 recipients, more than 5"));
  EXPECT_EQ(reasons[1].code, "first_gift_to_domain");
  EXPECT_THAT(reasons[1].message, HasSubstr("example.org"));
  EXPECT_EQ(reasons[2].code, "rule");
  EXPECT_THAT(hold_reasons({}, request(), "example.org"), IsEmpty());
}

// covers: GUARD-24
TEST(ApprovalRules, LimitsThatHoldAreReasonsOfTheCallAndOfItsRecipients) {
  store::ExceededLimit budget;
  budget.limit = {"2026-11", "account:17", store::BudgetKind::account, {3, std::nullopt}, {}, {}, true};
  budget.used.gifts = 3;
  budget.gifts = 1;
  store::RecentRecipient recipient{101, "ada@example.org", 2, UtcMillis{}, 1, 2, 30};
  const std::vector<store::RecentRecipient> recent(102, recipient);
  const auto reasons = limit_reasons({budget}, recent);
  ASSERT_THAT(reasons, SizeIs(102)) << "100 recipients, that there are more, and the budget";
  EXPECT_EQ(reasons[0].code, "recent_gift");
  EXPECT_EQ(reasons[0].field, "recipients[101].email");
  EXPECT_THAT(reasons[100].message, HasSubstr("2 more"));
  EXPECT_EQ(reasons[101].code, "budget_exceeded");
}

}  // namespace
}  // namespace giftsync::sync
