// What of a budget is used and left.
#include "sync/access/budget_use.h"

#include <gtest/gtest.h>

#include <vector>

#include "schema/store/gift/catalogue.h"

namespace giftsync::sync {
namespace {

using store::BudgetLimits;
using store::Usage;

// GUARD-8
TEST(BudgetUse, ThePercentageIsOfTheTighterLimitAndRoundedDown) {
  const BudgetLimits both{100, Money{50'000}};
  EXPECT_EQ(percent_used({}, Usage{7, Money{100}}), 0) << "without a limit";
  EXPECT_EQ(percent_used(both, Usage{}), 0);
  EXPECT_EQ(percent_used(both, Usage{12, Money{48'760}}), 97);
  EXPECT_EQ(percent_used(both, Usage{99, Money{100}}), 99);
  EXPECT_EQ(percent_used(both, Usage{10, Money{49'999}}), 99);
  EXPECT_EQ(percent_used(both, Usage{250, Money{}}), 250);
  EXPECT_EQ(percent_used({std::nullopt, kMaxMoney}, Usage{1, {kMaxMoney.minor_units - 1}}), 99);
  EXPECT_EQ(percent_used({std::nullopt, kMaxMoney}, Usage{1, kMaxMoney}), 100);
}

// GUARD-8
TEST(BudgetUse, WhatIsLeftIsNeverNegative) {
  const BudgetLimits both{3, Money{1'000}};
  EXPECT_EQ(gifts_left(both, Usage{2, {}}), 1);
  EXPECT_EQ(gifts_left(both, Usage{5, {}}), 0);
  EXPECT_EQ(amount_left(both, Usage{2, Money{575}}), Money{425});
  EXPECT_EQ(amount_left(both, Usage{2, Money{1'001}}), Money{0});
  EXPECT_EQ(gifts_left({}, Usage{2, {}}), std::nullopt);
  EXPECT_EQ(amount_left({}, Usage{2, {}}), std::nullopt);
  EXPECT_FALSE(is_exceeded(both, Usage{3, Money{1'000}}));
  EXPECT_TRUE(is_exceeded(both, Usage{4, Money{}}));
  EXPECT_TRUE(is_exceeded(both, Usage{0, Money{1'001}}));
}

// GUARD-14
TEST(BudgetUse, AThresholdIsReachedAtItsPercentage) {
  const BudgetLimits limits{10, std::nullopt};
  EXPECT_EQ(reached_threshold({80, 100}, limits, Usage{7, {}}), 0);
  EXPECT_EQ(reached_threshold({80, 100}, limits, Usage{8, {}}), 80);
  EXPECT_EQ(reached_threshold({80, 100}, limits, Usage{10, {}}), 100);
  EXPECT_EQ(reached_threshold({80, 100}, {}, Usage{10, {}}), 0);
}

// GUARD-14
TEST(BudgetUse, TheRestPaysForNoGiftWhenTheCheapestActiveItemCostsMore) {
  std::vector<store::GiftItem> items(3);
  items[0].costs = {Money{2'000}, Money{500}, Money{100}, Money{50}};
  items[1].costs = {Money{700}, std::nullopt, std::nullopt, std::nullopt};
  items[1].active = false;
  items[2].costs = {Money{2'500}, Money{}, Money{}, Money{}};
  EXPECT_EQ(least_cost(items), Money{2'050}) << "shipping and carbon neutral cost may be left out";
  EXPECT_TRUE(pays_for_no_gift({std::nullopt, Money{10'000}}, Usage{4, Money{7'951}}, Money{2'050}));
  EXPECT_FALSE(pays_for_no_gift({std::nullopt, Money{10'000}}, Usage{4, Money{7'950}}, Money{2'050}));
  EXPECT_FALSE(pays_for_no_gift({10, std::nullopt}, Usage{9, Money{7'951}}, Money{2'050}));
  items[0].costs = {};
  EXPECT_EQ(least_cost(items), Money{}) << "an item whose cost is not known may cost nothing";
  EXPECT_EQ(least_cost({}), Money{});
}

// GUARD-8
TEST(BudgetUse, AScopeHasItsId) {
  EXPECT_EQ(id_of_scope("account:17"), 17);
  EXPECT_EQ(id_of_scope("organization:3"), 3);
  EXPECT_EQ(id_of_scope("all"), 0);
}

}  // namespace
}  // namespace giftsync::sync
