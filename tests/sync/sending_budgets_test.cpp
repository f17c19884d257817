// Which budgets a request must fit in, and what is said when it does not.
#include "sync/access/sending_budgets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temporary_database.h"
#include "tests/support/temporary_store.h"

namespace giftsync::sync {
namespace {

using store::BudgetKind;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

UtcMillis at(std::string_view text) {
  return from_iso8601(text).value();
}

struct PeriodCase {
  const char* time;
  const char* zone;
  const char* day;
  const char* day_begins;
  const char* day_ends;
  const char* month_ends;
};

// covers: GUARD-8
// By the zones' published rules: both changes of the clock, ends of months, zones far from UTC, and a zone
// whose day began at 1:00.
TEST(SendingPeriods, BeginAndEndWithTheCalendarOfTheirZone) {
  for (const PeriodCase& expected : std::initializer_list<PeriodCase>{
           {"2026-11-30T23:59:59.999Z", "UTC", "2026-11-30", "2026-11-30T00:00:00Z", "2026-12-01T00:00:00Z",
            "2026-12-01T00:00:00Z"},
           {"2026-03-29T12:00:00Z", "Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z",
            "2026-03-29T22:00:00Z", "2026-03-31T22:00:00Z"},
           {"2026-10-25T12:00:00Z", "Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z",
            "2026-10-25T23:00:00Z", "2026-10-31T23:00:00Z"},
           {"2026-12-01T04:59:59Z", "America/New_York", "2026-11-30", "2026-11-30T05:00:00Z",
            "2026-12-01T05:00:00Z", "2026-12-01T05:00:00Z"},
           {"2026-11-30T18:30:00Z", "Asia/Kolkata", "2026-12-01", "2026-11-30T18:30:00Z",
            "2026-12-01T18:30:00Z", "2026-12-31T18:30:00Z"},
           {"2026-11-30T10:00:00Z", "Pacific/Kiritimati", "2026-12-01", "2026-11-30T10:00:00Z",
            "2026-12-01T10:00:00Z", "2026-12-31T10:00:00Z"},
           {"2026-12-01T11:59:59Z", "Pacific/Niue", "2026-12-01", "2026-12-01T11:00:00Z",
            "2026-12-02T11:00:00Z", "2027-01-01T11:00:00Z"},
           {"2018-11-04T12:00:00Z", "America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z",
            "2018-11-05T02:00:00Z", "2018-12-01T02:00:00Z"}}) {
    const UtcMillis time = at(expected.time);
    const SendingPeriod day = day_of(time, expected.zone);
    EXPECT_EQ(day, (SendingPeriod{expected.day, at(expected.day_begins), at(expected.day_ends)}))
        << expected.zone << " " << to_rfc3339(day.begins_at) << " " << to_rfc3339(day.ends_at);
    EXPECT_EQ(month_of(time, expected.zone).name, std::string(expected.day).substr(0, 7));
    EXPECT_EQ(month_of(time, expected.zone).ends_at, at(expected.month_ends)) << expected.zone;
  }
}

TEST(SendingPeriods, EachEndsWhereTheNextBegins) {
  for (const char* zone :
       {"UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"}) {
    SendingPeriod day = day_of(at("2018-01-01T12:00:00Z"), zone);
    for (int i = 0; i < 800; ++i) {
      const SendingPeriod next = day_of(day.ends_at, zone);
      ASSERT_EQ(next.begins_at, day.ends_at) << zone << " " << next.name;
      ASSERT_LT(day.name, next.name);
      ASSERT_EQ(day_of(day.ends_at - 1, zone).name, day.name) << zone;
      day = next;
    }
  }
}

SendingBudgetRules rules() {
  SendingBudgetRules rules;
  rules.account.month = {100, Money{50'000}};
  return rules;
}

store::GiftRequest request(std::optional<OrganizationId> organization = {}) {
  store::GiftRequest request;
  request.account = {17};
  request.organization = organization;
  request.credential_prefix = "gsk_live_abc";
  return request;
}

std::vector<std::string> ids(const std::vector<store::UsageLimit>& limits) {
  std::vector<std::string> all;
  for (const store::UsageLimit& limit : limits) all.push_back(limit.period + " " + limit.scope);
  return all;
}

const UtcMillis kNow = at("2026-11-28T10:00:00Z");

TEST(SendingCharges, WithoutALimitOnlyTheDayIsStamped) {
  const store::SendingCharge charge = charge_of({}, {}, request(OrganizationId{3}), kNow, kNow);
  EXPECT_EQ(charge.day, "2026-11-28");
  EXPECT_THAT(charge.limits, IsEmpty());
}

// covers: GUARD-13
TEST(SendingCharges, AKindThatHasALimitAnywhereIsCountedForAll) {
  EXPECT_THAT(ids(charge_of(rules(), {}, request(OrganizationId{3}), kNow, kNow).limits),
              ElementsAre("2026-11 account:17"));
  const std::vector<store::SendingBudget> set{{"organization:4", 10, {}, {}, {}, {}, ""}};
  const auto limits = charge_of(rules(), set, request(OrganizationId{3}), kNow, kNow).limits;
  EXPECT_THAT(ids(limits), ElementsAre("2026-11 account:17", "2026-11-28 organization:3"));
  EXPECT_TRUE(limits[1].limits.empty());
  EXPECT_THAT(ids(budgets_of(rules(), set, {17}, OrganizationId{3}, kNow)),
              ElementsAre("2026-11 account:17"));
  EXPECT_EQ(charge_of(rules(), set, request(OrganizationId{4}), kNow, kNow).limits[1].limits.gifts, 10);
}

// covers: TEST-7
TEST(SendingCharges, ATestRequestCountsInScopesOfItsOwnAndOnNoDay) {
  store::GiftRequest test = request(OrganizationId{3});
  test.credential_prefix = "gsk_test_abcdefg";
  test.is_test = true;
  SendingBudgetRules with_burst = rules();
  with_burst.burst_gifts = 100;
  const store::SendingCharge charge = charge_of(with_burst, {}, test, kNow, kNow);
  EXPECT_EQ(charge.day, "") << "no recount finds it";
  ASSERT_EQ(charge.limits.size(), 2u);
  EXPECT_EQ(charge.limits[0].scope, "test account:17");
  EXPECT_EQ(charge.limits[0].limits, charge_of(rules(), {}, request(), kNow, kNow).limits[0].limits);
  EXPECT_EQ(charge.limits[1].scope, "gsk_test_abcdefg");
}

// covers: GUARD-24
TEST(SendingCharges, EachLimitSaysWhetherItHolds) {
  SendingBudgetRules rules;
  rules.account.day.gifts = 5;
  rules.burst_gifts = 100;
  for (const auto& [budgets_hold, burst_holds] : {std::pair(false, true), std::pair(true, false)}) {
    rules.budgets_hold = budgets_hold;
    rules.burst_holds = burst_holds;
    const auto limits = charge_of(rules, {}, request(), kNow, kNow).limits;
    EXPECT_EQ(limits.front().holds, budgets_hold);
    ASSERT_TRUE(limits.back().is_burst());
    EXPECT_EQ(limits.back().holds, burst_holds);
  }
}

// covers: GUARD-13
TEST(SendingCharges, WhatAnAdminSetReplacesValueByValueAndZeroIsNoLimit) {
  std::vector<store::SendingBudget> set{{"account:17", {}, {}, 7, {}, {}, ""}};
  const auto values = [&] { return values_of(rules(), set, BudgetKind::account, 17).month; };
  EXPECT_EQ(values(), (store::BudgetLimits{7, Money{50'000}}));
  set[0].month_amount = Money{0};
  EXPECT_EQ(values(), (store::BudgetLimits{7, std::nullopt}));
  EXPECT_EQ(values_of(rules(), set, BudgetKind::account, 1).month, rules().account.month);
}

// covers: GUARD-15
TEST(SendingCharges, ABurstHasWindowsOfTheClockForEachKey) {
  SendingBudgetRules burst;
  burst.burst_gifts = 100;
  const auto limit = charge_of(burst, {}, request(), kNow, kNow).limits.at(0);
  EXPECT_TRUE(limit.is_burst());
  EXPECT_EQ(limit.scope, "gsk_live_abc");
  EXPECT_EQ(limit.minutes(), 10);
  EXPECT_EQ(limit.period, "burst:" + std::to_string(kNow.value) + ":10");
  EXPECT_LE(limit.begins_at, kNow);
  EXPECT_GT(limit.ends_at, kNow);
  EXPECT_EQ(charge_of(burst, {}, request(), kNow, limit.ends_at - 1).limits.at(0).period, limit.period);
  EXPECT_NE(charge_of(burst, {}, request(), kNow, limit.ends_at).limits.at(0).period, limit.period);
  store::GiftRequest record = request();
  record.credential_prefix.clear();
  EXPECT_THAT(charge_of(burst, {}, record, kNow, kNow).limits, IsEmpty()) << "a request record has no key";
}

store::ExceededLimit exceeded(store::BudgetLimits limits, store::Usage used, std::int64_t gifts,
                              std::optional<Money> price) {
  store::UsageLimit limit = budgets_of(rules(), {}, {17}, {}, kNow).at(0);
  limit.limits = limits;
  return {limit, used, gifts, price};
}

// covers: GUARD-12
TEST(ExceededBudgets, ASentenceSaysWhatIsLeftAndWhatTheRequestNeeds) {
  EXPECT_THAT(
      describe(exceeded({{}, Money{50'000}}, {3, Money{48'760}}, 1, Money{2'725})),
      ElementsAre(
          "The account's budget of 500.00 for November 2026 has 12.40 left; this request costs 27.25."));
  EXPECT_THAT(
      describe(exceeded({1, {}}, {1, {}}, 2, {})),
      ElementsAre("The account's budget of 1 gift for November 2026 has 0 left; this request has 2."));
  EXPECT_THAT(describe(exceeded({1, Money{100}}, {5, Money{900}}, 2, Money{300})), SizeIs(2))
      << "beyond both";
  EXPECT_THAT(describe(exceeded({{}, Money{100}}, {}, 1, {})),
              ElementsAre(testing::HasSubstr("cost is not known")));
}

TEST(ExceededBudgets, TheNextPeriodIsNamedUnlessTheRequestNeverFits) {
  EXPECT_EQ(available_at({exceeded({5, {}}, {5, {}}, 1, {})}), at("2026-12-01T00:00:00Z"));
  EXPECT_EQ(available_at({exceeded({5, {}}, {5, {}}, 6, {})}), std::nullopt);
  EXPECT_EQ(available_at({exceeded({{}, Money{5}}, {}, 1, {})}), std::nullopt) << "its cost is not known";
}

TEST(BudgetThresholds, TheHighestReachedOneOfTheTighterLimitCounts) {
  const std::vector<std::int64_t> warn_at{50, 80, 100};
  for (const auto& [gifts, cents, reached] :
       std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>>{
           {4, 0, 0}, {5, 0, 50}, {7, 7'999, 50}, {1, 8'000, 80}, {10, 0, 100}, {0, 12'000, 100}})
    EXPECT_EQ(reached_threshold(warn_at, {10, Money{10'000}}, {gifts, Money{cents}}), reached)
        << gifts << " " << cents;
  EXPECT_EQ(reached_threshold({}, {1, {}}, {9, {}}), 0);
}

class RunningBudgets : public testing::Test {
 protected:
  SendingBudgets budgets(SendingBudgetRules rules) {
    return {store_->sending_usage, std::move(rules), [this] { return now_; },
            [this] { return is_clock_trusted_ ? std::optional(now_) : std::nullopt; }};
  }
  tests::TemporaryStore store_;
  UtcMillis now_ = kNow;
  bool is_clock_trusted_ = true;
};

// covers: GUARD-8
TEST_F(RunningBudgets, AClockInDoubtBeginsNoNewMonth) {
  SendingBudgetRules with_burst = rules();
  with_burst.burst_gifts = 5;
  SendingBudgets running = budgets(with_burst);
  EXPECT_EQ(running.charge_of(request()).limits[0].period, "2026-11");
  now_ = at("2027-08-01T00:00:00Z");
  is_clock_trusted_ = false;
  EXPECT_EQ(running.charge_of(request()).limits[0].period, "2026-11");
  EXPECT_EQ(running.charge_of(request()).day, "2026-11-28");
  EXPECT_EQ(running.period_time(), kNow);
  EXPECT_EQ(running.charge_of(request()).limits[1].begins_at, now_)
      << "a burst has no period that could begin";
  is_clock_trusted_ = true;
  EXPECT_EQ(running.charge_of(request()).limits[0].period, "2027-08");
}

// covers: GUARD-13
TEST_F(RunningBudgets, WhatAnAdminSetsCountsWithinASecond) {
  SendingBudgets running = budgets({});
  EXPECT_THAT(running.charge_of(request()).limits, IsEmpty());
  store_->sending_usage.set({"account:17", 5, {}, {}, {}, kNow, "root"}, {});
  now_ = now_ + 900;
  EXPECT_THAT(ids(running.charge_of(request()).limits), ElementsAre("2026-11-28 account:17"));
}

// covers: GUARD-13
TEST_F(RunningBudgets, ARequestThatWasDraftedBeforeABudgetBeganCountsAMinuteAndAHalfLater) {
  SendingBudgets running = budgets(rules());
  running.start();
  store_->gifts.set_sending_charge([](const store::GiftRequest&) {
    return store::SendingCharge{"2026-11-28", {}};
  });
  store::NewGiftRequest made;
  made.request = request();
  made.request.created_at = kNow;
  made.recipients.assign(3, {"ada@example.com", "", "", ""});
  store_->gifts.create(std::span(&made, 1));
  const auto limits = running.budgets_of({17}, {});
  now_ = now_ + 89'999;
  running.count_begun([] { return true; });
  EXPECT_EQ(store_->sending_usage.find(limits)[0].gifts, 0);
  now_ = now_ + 1;
  running.count_begun([] { return false; });
  EXPECT_EQ(store_->sending_usage.find(limits)[0].gifts, 0) << "it did not finish";
  running.count_begun([] { return true; });
  EXPECT_EQ(store_->sending_usage.find(limits)[0].gifts, 3);
}

// covers: GUARD-13
TEST_F(RunningBudgets, OnlyItsWorkerCountsWhatWasRequestedBeforeABudget) {
  SendingBudgets running = budgets({});
  running.start();
  store_->gifts.set_sending_charge([&](const store::GiftRequest& asked) { return running.charge_of(asked); });
  store::NewGiftRequest made;
  made.request = request();
  made.request.created_at = kNow;
  made.recipients.assign(3, {"ada@example.com", "", "", ""});
  store_->gifts.create(std::span(&made, 1));
  store_->sending_usage.set({"account:17", 9, {}, {}, {}, kNow, "root"}, {});
  now_ = now_ + 900;
  store_->gifts.create(std::span(&made, 1));
  const auto limits = running.budgets_of({17}, {});
  ASSERT_THAT(ids(limits), ElementsAre("2026-11-28 account:17"));
  running.maintain();
  EXPECT_EQ(store_->sending_usage.find(limits)[0].gifts, 3);
  running.count_begun([] { return true; });
  EXPECT_EQ(store_->sending_usage.find(limits)[0].gifts, 6);
}

// covers: GUARD-14
TEST_F(RunningBudgets, AThresholdIsReportedOnceAmongAllDaemons) {
  SendingBudgets one = budgets(rules());
  SendingBudgets other = budgets(rules());
  store_->gifts.set_sending_charge([&](const store::GiftRequest& asked) { return one.charge_of(asked); });
  store::NewGiftRequest made;
  made.request = request();
  made.request.created_at = kNow;
  made.recipients.assign(85, {"ada@example.com", "", "", ""});
  made.request.costs.item = Money{100};
  store_->gifts.create(std::span(&made, 1));
  const auto warnings = one.maintain();
  ASSERT_THAT(warnings, SizeIs(1));
  EXPECT_EQ(
      describe(warnings[0]),
      "80 % of a budget is used: account:17 requested 85 of 100 gifts and 85.00 of 500.00 in November 2026; "
      "giftsyncctl budget list shows all");
  EXPECT_THAT(other.maintain(), IsEmpty());
  made.recipients.resize(15);
  store_->gifts.create(std::span(&made, 1));
  EXPECT_EQ(other.maintain().at(0).percent, 100);
  EXPECT_THAT(one.maintain(), IsEmpty());
}

// covers: GUARD-14, GUARD-31
TEST_F(RunningBudgets, AfterARaiseTheThresholdsAreThoseOfTheNewLimit) {
  struct Step {
    std::int64_t limit;  ///< set before; 0: as before
    std::int64_t gifts;  ///< requested, or refunded, before
    std::vector<std::int64_t> reported;
  };
  const std::vector<Step> steps{{100, 80, {80}}, {0, 20, {100}}, {110, 0, {}},   {0, 10, {100}},
                                {200, 0, {}},    {0, 49, {}},    {0, 1, {80}},   {0, -20, {}},
                                {0, 20, {}},     {0, 40, {100}}, {0, -100, {}},  {0, 100, {}},
                                {100, 0, {}},    {1000, 0, {}},  {0, 600, {80}}, {790, 0, {100}}};
  SendingBudgets one = budgets({});
  SendingBudgets other = budgets({});
  std::int64_t gifts = 0;
  for (const Step& step : steps) {
    const std::string where = std::to_string(&step - steps.data());
    if (step.limit > 0) store_->sending_usage.set({"account:17", {}, {}, step.limit, {}, kNow, "root"}, {});
    now_ = now_ + 1'000;
    gifts += step.gifts;
    tests::run_sql(store_.address(),
                   "INSERT INTO sending_usage (id, gifts, amount) VALUES ('2026-11 account:17', " +
                       std::to_string(gifts) + ", 0) ON CONFLICT (id) DO UPDATE SET gifts = excluded.gifts");
    std::vector<std::int64_t> reported;
    for (const BudgetWarning& warning : one.maintain()) reported.push_back(warning.percent);
    EXPECT_EQ(reported, step.reported) << where;
    EXPECT_THAT(other.maintain(), IsEmpty()) << where;
  }
}

// covers: GUARD-31
TEST_F(RunningBudgets, AdminsAreNotifiedAlsoOfTheLastMomentsOfADay) {
  SendingBudgetRules of_day;
  of_day.installation.day.gifts = 10;
  SendingBudgets running = budgets(of_day);
  store_->gifts.set_sending_charge([&](const store::GiftRequest& asked) { return running.charge_of(asked); });
  store::ConsoleUser ana;
  ana.email = "ana@example.com";
  ana.roles = {{Role::admin, RoleOrigin::granted, "root", kNow}};
  const UserId id = store_->console_users.create(ana, {}).value();
  now_ = at("2026-11-28T23:59:59Z");
  store::NewGiftRequest made;
  made.request = request();
  made.request.created_at = now_;
  made.recipients.assign(9, {"ada@example.com", "", "", ""});
  store_->gifts.create(std::span(&made, 1));
  now_ = at("2026-11-29T00:00:14Z");
  EXPECT_THAT(running.maintain(), SizeIs(1));
  EXPECT_THAT(running.maintain(), IsEmpty());
  store_->approver_notices.queue_mails(now_);
  EXPECT_THAT(store_->deliveries.claim("one", 60'000, 100, now_), SizeIs(10)) << "nine gifts, and the notice";
  const auto notices = store_->approver_notices.take(id, 1, "one").admin_notices;
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].period, "2026-11-28");
  EXPECT_EQ(notices[0].gifts, 9);
  EXPECT_EQ(notices[0].ends_at, at("2026-11-29T00:00:00Z"));
}

}  // namespace
}  // namespace giftsync::sync
