// The status of a transaction as a pure function of its changes: a table of the rules, and properties over
// random sets of changes in any order and with any repetition (STATUS-3, STATUS-4).
#include "sync/status/status_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace giftsync::sync {
namespace {
using store::StatusChange;

constexpr UtcMillis kSent{1'800'000'000'000};

store::StatusChange at(Status status, std::int64_t after_millis) {
  return {{}, "test", {1}, status, kSent + after_millis, kSent + after_millis, {}};
}

struct Rule {
  const char* rule;
  std::vector<store::StatusChange> changes;
  Status status;
};

class StatusTable : public testing::TestWithParam<Rule> {};

TEST_P(StatusTable, Holds) {
  EXPECT_EQ(fold(kSent, GetParam().changes).status, GetParam().status) << GetParam().rule;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, StatusTable,
    testing::Values(
        Rule{"nothing happened", {}, Status::sent},
        Rule{"delivered", {at(Status::delivered, 5)}, Status::delivered},
        Rule{"bounced after delivery",
             {at(Status::delivered, 5), at(Status::undelivered, 9)},
             Status::undelivered},
        Rule{"a resend turns undelivered",
             {at(Status::undelivered, 5), at(Status::delivered, 9)},
             Status::delivered},
        Rule{"the latest of each counts",
             {at(Status::delivered, 5), at(Status::undelivered, 9), at(Status::delivered, 11)},
             Status::delivered},
        Rule{"a tie is undelivered",
             {at(Status::delivered, 5), at(Status::undelivered, 5)},
             Status::undelivered},
        Rule{"opened beats undelivered", {at(Status::opened, 1), at(Status::undelivered, 9)}, Status::opened},
        Rule{"expired beats opened", {at(Status::opened, 9), at(Status::expired, 1)}, Status::expired},
        Rule{"redeemed beats expired", {at(Status::redeemed, 9), at(Status::expired, 1)}, Status::redeemed},
        Rule{"redeemed first", {at(Status::redeemed, 5), at(Status::donated, 9)}, Status::redeemed},
        Rule{"donated first", {at(Status::redeemed, 9), at(Status::donated, 5)}, Status::donated},
        Rule{"a tie is redeemed", {at(Status::redeemed, 5), at(Status::donated, 5)}, Status::redeemed},
        Rule{"refunded beats all",
             {at(Status::redeemed, 1), at(Status::donated, 2), at(Status::refunded, 9)},
             Status::refunded},
        Rule{"a sent report changes nothing", {at(Status::sent, -500)}, Status::sent},
        Rule{"before Sent At is accepted", {at(Status::opened, -500)}, Status::opened}));

// STATUS-5
TEST(Fold, InventsNoTimes) {
  const FoldedStatus folded = fold(kSent, std::vector{at(Status::redeemed, 9)});
  EXPECT_EQ(folded.times[Status::opened], std::nullopt);
  EXPECT_EQ(folded.times[Status::delivered], std::nullopt);
  EXPECT_EQ(folded.times[Status::sent], kSent);
}

// STATUS-2
TEST(Fold, KeepsTheLatestDeliveryAndTheEarliestOfAllElse) {
  const FoldedStatus folded = fold(kSent, std::vector{at(Status::delivered, 5), at(Status::delivered, 9),
                                                      at(Status::opened, 7), at(Status::opened, 3)});
  EXPECT_EQ(folded.times[Status::delivered], kSent + 9);
  EXPECT_EQ(folded.times[Status::opened], kSent + 3);
}

// STATUS-6
TEST(Fold, OnlyTheEarlierClaimTimeIsKept) {
  const FoldedStatus folded = fold(kSent, std::vector{at(Status::redeemed, 9), at(Status::donated, 5)});
  EXPECT_EQ(folded.times[Status::donated], kSent + 5);
  EXPECT_EQ(folded.times[Status::redeemed], std::nullopt);
}

std::vector<store::StatusChange> random_changes(std::mt19937& random) {
  std::vector<store::StatusChange> changes(random() % 12);
  for (store::StatusChange& change : changes) {
    change = at(kAllStatuses[random() % kAllStatuses.size()], static_cast<std::int64_t>(random() % 6));
  }
  return changes;
}

TEST(FoldProperty, AnyOrderAndRepetitionFoldTheSame) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 5000; ++round) {
    std::vector<store::StatusChange> changes = random_changes(random);
    const FoldedStatus expected = fold(kSent, changes);
    const std::size_t once = changes.size();
    for (std::size_t i = 0; i < once; ++i) {
      if (random() % 2) changes.push_back(changes[random() % once]);
    }
    std::shuffle(changes.begin(), changes.end(), random);
    ASSERT_EQ(fold(kSent, changes), expected) << "round " << round;
  }
}

TEST(FoldProperty, TheStatusIsAlwaysOneThatHasATime) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const FoldedStatus folded = fold(kSent, random_changes(random));
    ASSERT_TRUE(folded.times[folded.status]);
    ASSERT_FALSE(folded.times[Status::redeemed] && folded.times[Status::donated]);
  }
}

TEST(ConflictReason, FlagsTheLoserOnly) {
  const std::vector changes{at(Status::redeemed, 9), at(Status::donated, 5), at(Status::opened, 1)};
  EXPECT_EQ(conflict_reason(changes[0], changes), "redeemed after it was donated");
  EXPECT_EQ(conflict_reason(changes[1], changes), "");
  EXPECT_EQ(conflict_reason(changes[2], changes), "");
}

TEST(ConflictReason, FlagsAnOutcomeAfterTheEnd) {
  const std::vector changes{at(Status::expired, 5), at(Status::redeemed, 9)};
  EXPECT_EQ(conflict_reason(changes[1], changes), "redeemed after it was expired");
}

// STATUS-16
TEST(TimeError, AcceptsPlausibleTimes) {
  const UtcMillis now{1'800'000'000'000};
  EXPECT_EQ(time_error(now, now), "");
  EXPECT_EQ(time_error(now + kDayMillis, now), "");
  EXPECT_NE(time_error(now + kDayMillis + 1, now), "");
  EXPECT_EQ(time_error({946'684'800'000}, now), "");
  EXPECT_NE(time_error({946'684'799'999}, now), "");
}

}  // namespace
}  // namespace giftsync::sync
