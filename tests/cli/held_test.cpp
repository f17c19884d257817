// Held gift requests on the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class CliHeld : public testing::Test {
 protected:
  CliHeld() {
    cli_.run({"account", "create", "--email", "rose@example.com", "--name", "Rose", "--plan", "team"});
    store::Store store(cli_.address());
    store::GiftItem coffee;
    coffee.id = {7};
    coffee.name = "Coffee";
    coffee.costs.item = Money{500};
    store.catalogue.import(std::span(&coffee, 1));
  }
  CliFixture::Result run(std::vector<std::string> args) const {
    args.insert(args.begin(), "held");
    return cli_.run(args);
  }
  /// A request for two gifts that waits.
  std::string held() const {
    store::Store store(cli_.address());
    store::NewGiftRequest request;
    request.request.account = store.accounts.find_by_email("rose@example.com")->id;
    request.request.gift = {7};
    request.request.costs.item = Money{500};
    request.request.credential_prefix = "gsk_live_abcdefg";
    request.request.created_at = cli_.now;
    request.recipients = {{"ada@example.org", "Ada", "", "Hi"}, {"bea@example.org", "", "", "Hi"}};
    request.hold_reasons = {{"rule", "", "The rule \"all\" holds it."}};
    return std::to_string(store.gifts.create(std::span(&request, 1)).front().request.value);
  }
  Json listed(const std::string& state) const {
    return tests::parse_ordered_json(run({"list", "--state", state, "--json"}).out);
  }
  CliFixture cli_;
};

// covers: GUARD-26
TEST_F(CliHeld, AnApprovedRequestBecomesGiftsWithTermsThatCount) {
  const std::string id = held();
  EXPECT_THAT(run({"list"}).out, AllOf(HasSubstr(id), HasSubstr("10.00"), HasSubstr("rose@example.com"),
                                       HasSubstr("The rule \"all\" holds it.")));
  EXPECT_THAT(run({"show", id}).out, AllOf(HasSubstr("ada@example.org"), HasSubstr("Coffee")));
  const auto approved = run({"approve", id, "--comment", "as agreed", "--yes"});
  EXPECT_EQ(approved.code, 0) << approved.err;
  EXPECT_EQ(approved.out, id + " sent\n");
  store::Store store(cli_.address());
  const auto request = store.gifts.find_gift_request({std::stoll(id)});
  ASSERT_TRUE(request.has_value());
  EXPECT_NE(request->terms, "");
  EXPECT_EQ(request->sending_day, "2026-11-21");
  EXPECT_THAT(store.gifts.find_recipients(request->id), SizeIs(2));
  EXPECT_EQ(run({"approve", id}).code, 0) << "it is as asked";
  EXPECT_EQ(run({"reject", id, "--yes"}).code, 65);
  EXPECT_EQ(listed("sent").front()["comment"], "as agreed");
  const auto events = store.audit.list(store::Viewer::of_command_line(), {.action = "held."}, 10);
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].action, "held.approve");
  EXPECT_EQ(events[1].object_id, id);
  EXPECT_EQ(events[0].action, "held.reject");
  EXPECT_TRUE(events[0].refused);
}

// covers: GUARD-26
TEST_F(CliHeld, AnApprovalCountsInTheBudgetsAndCountsNoPeriodAgain) {
  cli_.run({"budget", "set", "installation", "--month-gifts", "100"});
  const std::string first = held();
  const std::string second = held();
  EXPECT_EQ(run({"approve", first, "--yes"}).code, 0);
  tests::run_sql(cli_.address(), "UPDATE sending_usage SET gifts = 50 WHERE id = '2026-11 all'");
  EXPECT_EQ(run({"approve", second, "--yes"}).code, 0);
  store::Store store(cli_.address());
  EXPECT_EQ(store.sending_usage.find_period("2026-11").at("all").gifts, 52);
}

// covers: GUARD-32
TEST_F(CliHeld, ShowNamesTheBudgetsThatAnApprovalOverrides) {
  const std::string id = held();
  EXPECT_EQ(tests::parse_ordered_json(run({"show", id, "--json"}).out)["notes"], Json::array());
  cli_.run({"budget", "set", "account", "rose@example.com", "--month-gifts", "1"});
  const std::string sentence = "The account's budget of 1 gift for November 2026 has 1 left";
  EXPECT_THAT(run({"show", id}).out, HasSubstr("Note      " + sentence));
  const Json notes = tests::parse_ordered_json(run({"show", id, "--json"}).out)["notes"];
  ASSERT_THAT(notes, SizeIs(1));
  EXPECT_EQ(notes[0]["code"], "budget_exceeded");
}

// covers: GUARD-32
TEST_F(CliHeld, WhyItWasHeldIsSaidAsOfThenAndTheFrequencyAsOfNow) {
  const std::string id = held();
  EXPECT_THAT(run({"list"}).out, HasSubstr("    When it was held: The rule \"all\" holds it."));
  EXPECT_THAT(run({"show", id}).out, AllOf(HasSubstr("Held      2026-11-21 12:31 UTC, because at that time:\n"
                                                     "Because   The rule \"all\" holds it.\n"),
                                           Not(HasSubstr("Note "))));
  cli_.write_settings("sending: { frequency: { gifts: 1, days: 30 } }\n");
  EXPECT_THAT(run({"show", id}).out, Not(HasSubstr("Note "))) << "both get their first gift";
  cli_.send_gifts({"ada@example.org"});
  EXPECT_THAT(
      run({"show", id}).out,
      HasSubstr("Note      ada@example.org got 1 gift in the last 30 days (the newest on 2026-11-21); the "
                "limit is 1. An approval sends it all the same.\n"));
  EXPECT_EQ(tests::parse_ordered_json(run({"show", id, "--json"}).out)["notes"][0]["code"], "recent_gift");
  EXPECT_EQ(run({"approve", id, "--yes"}).code, 0) << "a note prevents nothing";
}

// covers: GUARD-26
TEST_F(CliHeld, WhatMustNotBeSentStaysHeld) {
  const std::string id = held();
  cli_.run({"do-not-send", "add", "bea@example.org"});
  const auto refused = run({"approve", id});
  EXPECT_EQ(refused.code, 65);
  EXPECT_THAT(refused.err, HasSubstr("still waits"));
  EXPECT_THAT(cli_.run({"audit", "list", "--action", "held.approve"}).out, HasSubstr("GUARD-26"));
  EXPECT_THAT(run({"show", id}).out, HasSubstr("FAULT     bea@example.org: "));
  EXPECT_THAT(listed("held"), SizeIs(1));
  EXPECT_EQ(run({"reject", id, "--comment", "no", "--yes"}).out, id + " rejected\n");
}

// covers: OPS-28, GUARD-32
TEST_F(CliHeld, BothDecisionsAreConfirmedWithGiftsAndCost) {
  const std::string first = held();
  const std::string second = held();
  for (const char* verb : {"approve", "reject"}) {
    const auto refused = run({verb, first, second});
    EXPECT_EQ(refused.code, 64);
    EXPECT_THAT(refused.err,
                HasSubstr("2 requests with 4 gifts for 20.00? This cannot be undone; add --yes"));
  }
  EXPECT_THAT(listed("held"), SizeIs(2));
  cli_.run({"budget", "set", "account", "rose@example.com", "--month-gifts", "1"});
  const std::string note = ": The account's budget of 1 gift for November 2026 has 1 left";
  EXPECT_THAT(run({"approve", first, second}).err,
              AllOf(HasSubstr(first + note), Not(HasSubstr(second + note)), HasSubstr("Approve 2 requests")))
      << "what both have in common once";
  cli_.run({"do-not-send", "add", "bea@example.org"});
  const auto faulty = run({"approve", first});
  EXPECT_EQ(faulty.code, 65) << "there is nothing to approve";
  EXPECT_THAT(faulty.err, Not(HasSubstr("Approve 1 request")));
  EXPECT_THAT(run({"reject", first}).err, HasSubstr("Reject 1 request with 2 gifts for 10.00?"));
}

TEST_F(CliHeld, AllOfAKeyAreDecidedTogether) {
  held();
  held();
  EXPECT_EQ(run({"approve"}).code, 64);
  EXPECT_EQ(run({"approve", "1", "--credential", "gsk_live_abcdefg"}).code, 64);
  EXPECT_EQ(run({"reject", "--credential", "gsk_live_other", "--yes"}).code, 0);
  EXPECT_EQ(run({"reject", "--credential", "gsk_live_", "--yes"}).code, 64) << "it may be each key";
  EXPECT_THAT(run({"list", "--credential", "gsk_live_other"}).err,
              HasSubstr("No request of \"gsk_live_other\" waits for approval."));
  EXPECT_EQ(run({"reject", "--credential", "gsk_live_abc", "--yes"}).code, 0) << "its beginning";
  EXPECT_THAT(listed("rejected"), SizeIs(2));
  EXPECT_EQ(listed("held"), Json::array());
  EXPECT_EQ(run({"approve", "77"}).code, 65);
}

}  // namespace
}  // namespace giftsync::cli
