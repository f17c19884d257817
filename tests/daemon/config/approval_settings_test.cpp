// The section `sending.approval`, and what holds instead of refusing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/config/read_settings.h"

namespace giftsync::config {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// `sending` begins on line 4.
tl::expected<Settings, SettingsFaults> read(const std::string& sending) {
  return read_settings_text(
      "server: { base_url: \"https://gifts.example.com\", admin_url: \"https://gifts.internal\" }\n"
      "store: { connection: gifts.db }\n"
      "email: { directory: outbox, from: gifts@example.com }\n"
      "sending:\n" +
          sending,
      "/tmp/a.yaml");
}
tl::expected<Settings, SettingsFaults> read_rule(const std::string& rule) {
  return read("  approval:\n    rules:\n      - { " + rule + " }\n");
}
std::vector<std::string> faults(const std::string& rule) {
  const auto outcome = read_rule(rule);
  return outcome ? std::vector<std::string>() : outcome.error().lines;
}

// covers: GUARD-24
TEST(ApprovalSettings, RulesAndHoldingLimitsAreRead) {
  const auto outcome = read(
      "  budgets: { on_excess: hold }\n"
      "  burst: { gifts: 5, on_excess: hold }\n"
      "  frequency: { gifts: 1, on_excess: hold }\n"
      "  approval:\n"
      "    expire_days: 3\n"
      "    rules:\n"
      "      - { name: large, amount_above: \"1000.00\", recipients_above: 50 }\n"
      "      - { name: new, first_gift_to_domain: true, items: [7, 8], accounts: [ana@example.com],\n"
      "          credentials: [gsk_live_0sFxR2a], endpoints: [email, crm] }\n");
  ASSERT_TRUE(outcome.has_value()) << ::testing::PrintToString(outcome.error().lines);
  const SendingSettings& sending = outcome->sending;
  EXPECT_TRUE(sending.budgets.holds);
  EXPECT_TRUE(sending.burst.holds);
  EXPECT_EQ(sending.frequency.on_excess, FrequencyExcess::hold);
  EXPECT_EQ(sending.approval.expire_days, 3);
  ASSERT_THAT(sending.approval.rules, SizeIs(2));
  EXPECT_EQ(sending.approval.rules[0].amount_above, "1000.00");
  EXPECT_EQ(sending.approval.rules[0].recipients_above, 50);
  EXPECT_TRUE(sending.approval.rules[1].first_gift_to_domain);
  EXPECT_THAT(sending.approval.rules[1].items, ElementsAre("7", "8"));
  EXPECT_THAT(sending.approval.rules[1].endpoints, ElementsAre("email", "crm"));
  EXPECT_THAT(outcome->warnings,
              ElementsAre(AllOf(HasSubstr("sending.approval.rules"), HasSubstr("console.enabled is false"))));
}

TEST(ApprovalSettings, WithoutThemNothingHolds) {
  const auto outcome = read("  time_zone: UTC\n");
  ASSERT_TRUE(outcome.has_value());
  EXPECT_FALSE(outcome->sending.budgets.holds);
  EXPECT_THAT(outcome->sending.approval.rules, IsEmpty());
  EXPECT_THAT(outcome->warnings, IsEmpty());
}

// covers: GUARD-24
TEST(ApprovalSettings, ARuleWithoutAConditionIsAFault) {
  for (const char* rule : {"name: a", "name: a, recipients_above: 0", "name: a, first_gift_to_domain: false",
                           "name: a, items: []"})
    EXPECT_THAT(faults(rule), ElementsAre(AllOf(HasSubstr("a.yaml:7: sending.approval.rules[0]: "),
                                                HasSubstr("a rule without a condition"))))
        << rule;
  EXPECT_THAT(faults("recipients_above: 5"), ElementsAre(HasSubstr("name: found nothing")));
}

TEST(ApprovalSettings, WrongValuesAreRefused) {
  for (const char* rule :
       {"name: A, recipients_above: 1", "name: a, recipients_above: -1", "name: a, amount_above: \"-1.00\"",
        "name: a, amount_above: \"1.001\"", "name: a, items: [0]", "name: a, items: [x]",
        "name: a, accounts: [ana]", "name: a, credentials: [abc]",
        "name: a, credentials: [gsk_live_0sFxR2aBcDeFgHiJkLmNoPqRsTuVwXyZ012345678]",
        "name: a, endpoints: [mail]"})
    EXPECT_THAT(faults(rule), SizeIs(1)) << rule;
  EXPECT_FALSE(read("  approval: { expire_days: 8 }\n").has_value());
  EXPECT_FALSE(read("  budgets: { on_excess: wait }\n").has_value());
  const auto twice = read(
      "  approval:\n    rules:\n      - { name: a, recipients_above: 1 }\n      - { name: a, "
      "recipients_above: 2 "
      "}\n");
  EXPECT_FALSE(twice.has_value());
}

}  // namespace
}  // namespace giftsync::config
