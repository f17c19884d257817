// Budgets on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

/// Budgets of the settings are none.
class CliBudget : public testing::Test {
 protected:
  CliBudget() {
    cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
    cli_.run({"organization", "create", "--name", "Edge"});
  }
  CliFixture::Result run(std::vector<std::string> args) const {
    args.insert(args.begin(), "budget");
    return cli_.run(args);
  }
  Json listed() const { return tests::parse_ordered_json(run({"list", "--json"}).out); }
  /// The row of a scope and a period.
  Json listed(const std::string& scope, const std::string& period) const {
    for (const Json& row : listed())
      if (row["scope"] == scope && row["period"] == period && !row["of_each"]) return row;
    return {};
  }
  /// Gifts of the first account for 5.75 each that count in this day.
  void request_gifts(std::int64_t count) const {
    store::Store store(cli_.address());
    store.gifts.set_sending_charge(
        [](const store::GiftRequest&) { return store::SendingCharge{.day = "2026-11-21"}; });
    store::NewGiftRequest request;
    request.request.account = store.accounts.find_by_email("rose@example.com")->id;
    request.request.gift = {7};
    request.request.item_name = "Coffee";
    request.request.costs = {Money{500}, Money{0}, Money{25}, Money{50}};
    request.request.sender_email = "rose@example.com";
    request.request.created_at = cli_.now;
    for (std::int64_t i = 0; i < count; ++i)
      request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    ASSERT_EQ(store.gifts.create(std::span(&request, 1)).front().kind, store::CreateOutcome::Kind::created);
  }
  std::vector<std::string> conditions() const {
    std::vector<std::string> names;
    const Json status = tests::parse_ordered_json(cli_.run({"status", "--json"}).out);
    for (const Json& item : status["needs_attention"]) names.push_back(item["condition"]);
    return names;
  }
  CliFixture cli_;
};

// GUARD-8, GUARD-13
TEST_F(CliBudget, ALimitCountsWhatWasRequestedInThePeriodBefore) {
  request_gifts(3);
  const auto none = run({"list"});
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("There is no budget"));
  EXPECT_EQ(run({"list", "--json"}).out, "[]\n");
  const auto set = run({"set", "account", "rose@example.com", "--month-amount", "50.00"});
  EXPECT_EQ(set.code, 0) << set.err;
  EXPECT_THAT(set.err, HasSubstr("The budget of account rose@example.com is set"));
  EXPECT_THAT(set.out, AllOf(HasSubstr("50.00"), HasSubstr("17.25"), HasSubstr("32.75")));
  const Json month = listed("account", "2026-11");
  EXPECT_EQ(month["name"], "rose@example.com");
  EXPECT_EQ(month["from"], "set");
  EXPECT_EQ(month["limit_gifts"], nullptr);
  EXPECT_EQ(month["used_gifts"], 3);
  EXPECT_EQ(month["left_gifts"], nullptr);
  EXPECT_EQ(month["limit_amount"], "50.00");
  EXPECT_EQ(month["used_amount"], "17.25");
  EXPECT_EQ(month["left_amount"], "32.75");
  EXPECT_EQ(month["used_percent"], 34);
  EXPECT_EQ(month["resets_at"], "2026-12-01T00:00:00.000Z");
  EXPECT_THAT(run({"list"}).out,
              AllOf(HasSubstr("RESETS (UTC)"), HasSubstr("rose@example.com"), HasSubstr("2026-12-01 00:00")));
}

// GUARD-13
TEST_F(CliBudget, AValueThatIsNotNamedStays) {
  run({"set", "installation", "--day-gifts", "10", "--month-amount", "500.00"});
  EXPECT_EQ(run({"set", "installation", "--day-gifts", "20"}).code, 0);
  EXPECT_EQ(listed("installation", "2026-11-21")["limit_gifts"], 20);
  EXPECT_EQ(listed("installation", "2026-11")["limit_amount"], "500.00");
  EXPECT_THAT(run({"set", "installation", "--day-gifts", "20"}).err, HasSubstr("is unchanged"));
  EXPECT_EQ(run({"set", "installation", "--day-gifts", "0", "--month-amount", "0.00"}).code, 0);
  for (const Json& row : listed()) {
    EXPECT_EQ(row["limit_gifts"], nullptr) << "0 is no limit";
    EXPECT_EQ(row["limit_amount"], nullptr);
    EXPECT_EQ(row["from"], "set");
  }
}

// GUARD-13
TEST_F(CliBudget, ALimitBelowItsUseSaysThatItAppliesFromNowOn) {
  request_gifts(3);
  EXPECT_THAT(run({"set", "installation", "--month-gifts", "3"}).err, Not(HasSubstr("below what is used")));
  const auto below = run({"set", "installation", "--month-gifts", "2"});
  EXPECT_EQ(below.code, 0);
  EXPECT_THAT(below.err,
              AllOf(HasSubstr("The limit for 2026-11 is below what is used already (3 gifts, 17.25)"),
                    HasSubstr("a gift may fit from 2026-12-01 00:00 UTC on")));
  EXPECT_EQ(listed("installation", "2026-11")["left_gifts"], 0);
}

// GUARD-13
TEST_F(CliBudget, UnsetLetsTheSettingsApplyAgain) {
  EXPECT_EQ(run({"unset", "organization", "Edge"}).code, 65);
  run({"set", "organization", "edge", "--day-gifts", "5"});
  EXPECT_EQ(listed("organization", "2026-11-21")["name"], "Edge");
  const auto unset = run({"unset", "organization", "Edge"});
  EXPECT_EQ(unset.code, 0) << unset.err;
  EXPECT_THAT(unset.err, HasSubstr("as the settings say again"));
  EXPECT_THAT(listed(), IsEmpty());
  EXPECT_EQ(run({"unset", "organization", "Edge"}).code, 65);
}

// GUARD-13, CON-8
TEST_F(CliBudget, ChangesAreAuditedWithTheValuesBefore) {
  run({"set", "account", "rose@example.com", "--month-gifts", "7"});
  run({"set", "account", "rose@example.com", "--month-gifts", "9"});
  run({"set", "account", "rose@example.com", "--month-gifts", "9"});
  run({"unset", "account", "rose@example.com"});
  run({"unset", "account", "rose@example.com"});
  std::vector<std::string> events;
  store::Store store(cli_.address());
  for (const store::AuditEvent& event :
       store.audit.list(store::Viewer::of_command_line(), {.action = "budget."}, 10))
    events.push_back(event.action + " " + event.object_id + ": " + event.detail);
  EXPECT_THAT(
      events,
      ElementsAre("budget.unset account rose@example.com: month-gifts as the settings say (before: 9)",
                  "budget.set account rose@example.com: month-gifts 9 (before: 7)",
                  "budget.set account rose@example.com: month-gifts 7 (before: as the settings say)"));
}

// GUARD-13
TEST_F(CliBudget, WhatIsNoLimitIsRefused) {
  for (const auto& [args, code, words] : std::vector<std::tuple<std::vector<std::string>, int, std::string>>{
           {{"installation"}, 64, "found no limit; allowed: at least one of --day-gifts"},
           {{"installation", "--day-gifts=-1"}, 64, "allowed: a whole number from 0"},
           {{"installation", "--day-gifts=1.5"}, 64, "allowed: a whole number from 0"},
           {{"installation", "--day-amount=-1"}, 64, "not negative"},
           {{"installation", "--day-amount=1.234"}, 64, "at most two decimals"},
           {{"installation", "--month-amount=much"}, 64, "allowed: an amount such as 500.00"},
           {{"instalation", "--day-gifts=1"}, 64, "allowed: account, organization, installation"},
           {{"installation", "Edge", "--day-gifts=1"}, 64, "allowed: nothing after installation"},
           {{"account", "--day-gifts=1"}, 64, "the e-mail address of an account"},
           {{"organization", "--day-gifts=1"}, 64, "the name of an organization"},
           {{"account", "kim@example.com", "--day-gifts=1"}, 65, "there is no account \"kim@example.com\""},
           {{"organization", "Ridge", "--day-gifts=1"}, 65, "there is no organization \"Ridge\""}}) {
    std::vector<std::string> all = args;
    all.insert(all.begin(), "set");
    const auto result = run(all);
    EXPECT_EQ(result.code, code) << words;
    EXPECT_THAT(result.err, HasSubstr(words));
  }
  EXPECT_THAT(listed(), IsEmpty()) << "nothing of a faulty command is done";
}

// GUARD-8
TEST_F(CliBudget, CheckEndsWith1AndNamesEachDifference) {
  EXPECT_EQ(run({"check"}).code, 0);
  request_gifts(2);
  run({"set", "account", "rose@example.com", "--month-gifts", "10"});
  const auto same = run({"check"});
  EXPECT_EQ(same.code, 0) << same.out;
  EXPECT_THAT(same.err, HasSubstr("No difference"));
  EXPECT_EQ(run({"check", "--json"}).out, "[]\n");
  request_gifts(3);  // by a daemon that counts in no budget
  const auto differs = run({"check"});
  EXPECT_EQ(differs.code, 1);
  EXPECT_THAT(differs.err, AllOf(HasSubstr("1 difference"), HasSubstr("A restart of giftsyncd")));
  const Json rows = tests::parse_ordered_json(run({"check", "--json"}).out);
  ASSERT_THAT(rows, SizeIs(1));
  EXPECT_EQ(rows[0]["period"], "2026-11");
  EXPECT_EQ(rows[0]["scope"], "account");
  EXPECT_EQ(rows[0]["name"], "rose@example.com");
  EXPECT_EQ(rows[0]["counted_gifts"], 2);
  EXPECT_EQ(rows[0]["gifts"], 5);
  EXPECT_EQ(rows[0]["counted_amount"], "11.50");
  EXPECT_EQ(rows[0]["amount"], "28.75");
}

// OPS-27, GUARD-14
TEST_F(CliBudget, StatusNamesABudgetThatIsUsedUp) {
  request_gifts(2);
  EXPECT_THAT(cli_.run({"status"}).out,
              AllOf(HasSubstr("NO LIMIT: neither a budget nor a burst is set"),
                    HasSubstr("giftsyncctl budget set installation --day-gifts 500\n")));
  EXPECT_EQ(tests::parse_ordered_json(cli_.run({"status", "--json"}).out)["sending"]["has_limit"], false);
  EXPECT_THAT(conditions(), Not(Contains("sending.budget_reached")));
  run({"set", "account", "rose@example.com", "--month-gifts", "3"});
  EXPECT_THAT(conditions(), Not(Contains("sending.budget_reached")));
  EXPECT_THAT(cli_.run({"status"}).out, Not(HasSubstr("NO LIMIT")));
  run({"set", "account", "rose@example.com", "--month-gifts", "2"});
  EXPECT_THAT(conditions(), Contains("sending.budget_reached"));
  EXPECT_THAT(cli_.run({"status"}).out,
              AllOf(HasSubstr("the budget of account rose@example.com for 2026-11 is used up: 2 of 2 gifts"),
                    HasSubstr("budget set account rose@example.com --month-gifts 4  # raises it")));
  run({"set", "account", "rose@example.com", "--month-gifts", "1"});
  EXPECT_THAT(cli_.run({"status"}).out,
              HasSubstr("budget set account rose@example.com --month-gifts 4  # raises it"))
      << "twice the use, so that it is raised above it";
}

// OPS-27, GUARD-14
TEST_F(CliBudget, StatusNamesABudgetWhoseRestPaysForNoGift) {
  request_gifts(2);  // 11.50
  store::GiftItem coffee;
  coffee.id = {7};
  coffee.name = "Coffee";
  coffee.costs = {Money{500}, Money{0}, Money{25}, Money{50}};
  store::Store(cli_.address()).catalogue.import(std::span(&coffee, 1));
  run({"set", "account", "rose@example.com", "--month-amount", "17.00"});
  EXPECT_THAT(conditions(), Not(Contains("sending.budget_reached"))) << "5.50 may pay for one more";
  run({"set", "account", "rose@example.com", "--month-amount", "16.99"});
  EXPECT_THAT(cli_.run({"status"}).out,
              AllOf(HasSubstr("for 2026-11 is used up: 11.50 of 16.99, and the rest pays for no gift"),
                    HasSubstr("budget set account rose@example.com --month-amount 33.98  # raises it")));
}

}  // namespace
}  // namespace giftsync::cli
