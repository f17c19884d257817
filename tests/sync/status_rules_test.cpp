// The status of a transaction as a pure function of its changes: a table of the rules, and properties over
// random sets of changes in any order and with any repetition (STATUS-3, STATUS-4).
#include "sync/status_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace giftsync::sync {
namespace {

using platform::UtcMillis;
using schema::Status;
using schema::store::StatusChange;

constexpr platform::UtcMillis kSent{1'800'000'000'000};

schema::store::StatusChange at(schema::Status status, std::int64_t after_millis) {
  return {{}, "test", {1}, status, kSent + after_millis, kSent + after_millis, {}};
}

struct Rule {
  const char* rule;
  std::vector<schema::store::StatusChange> changes;
  schema::Status status;
};

class StatusTable : public testing::TestWithParam<Rule> {};

TEST_P(StatusTable, Holds) {
  EXPECT_EQ(fold(kSent, GetParam().changes).status, GetParam().status) << GetParam().rule;
}

INSTANTIATE_TEST_SUITE_P(
    Rules, StatusTable,
    testing::Values(
        Rule{"nothing happened", {}, schema::Status::sent},
        Rule{"delivered", {at(schema::Status::delivered, 5)}, schema::Status::delivered},
        Rule{"bounced after delivery",
             {at(schema::Status::delivered, 5), at(schema::Status::undelivered, 9)},
             schema::Status::undelivered},
        Rule{"a resend turns undelivered",
             {at(schema::Status::undelivered, 5), at(schema::Status::delivered, 9)},
             schema::Status::delivered},
        Rule{"the latest of each counts",
             {at(schema::Status::delivered, 5), at(schema::Status::undelivered, 9),
              at(schema::Status::delivered, 11)},
             schema::Status::delivered},
        Rule{"a tie is undelivered",
             {at(schema::Status::delivered, 5), at(schema::Status::undelivered, 5)},
             schema::Status::undelivered},
        Rule{"opened beats undelivered",
             {at(schema::Status::opened, 1), at(schema::Status::undelivered, 9)},
             schema::Status::opened},
        Rule{"expired beats opened",
             {at(schema::Status::opened, 9), at(schema::Status::expired, 1)},
             schema::Status::expired},
        Rule{"redeemed beats expired",
             {at(schema::Status::redeemed, 9), at(schema::Status::expired, 1)},
             schema::Status::redeemed},
        Rule{"redeemed first",
             {at(schema::Status::redeemed, 5), at(schema::Status::donated, 9)},
             schema::Status::redeemed},
        Rule{"donated first",
             {at(schema::Status::redeemed, 9), at(schema::Status::donated, 5)},
             schema::Status::donated},
        Rule{"a tie is redeemed",
             {at(schema::Status::redeemed, 5), at(schema::Status::donated, 5)},
             schema::Status::redeemed},
        Rule{"refunded beats all",
             {at(schema::Status::redeemed, 1), at(schema::Status::donated, 2),
              at(schema::Status::refunded, 9)},
             schema::Status::refunded},
        Rule{"a sent report changes nothing", {at(schema::Status::sent, -500)}, schema::Status::sent},
        Rule{"before Sent At is accepted", {at(schema::Status::opened, -500)}, schema::Status::opened}));

// STATUS-5
TEST(Fold, InventsNoTimes) {
  const FoldedStatus folded = fold(kSent, std::vector{at(schema::Status::redeemed, 9)});
  EXPECT_EQ(folded.times[schema::Status::opened], std::nullopt);
  EXPECT_EQ(folded.times[schema::Status::delivered], std::nullopt);
  EXPECT_EQ(folded.times[schema::Status::sent], kSent);
}

// STATUS-2
TEST(Fold, KeepsTheLatestDeliveryAndTheEarliestOfAllElse) {
  const FoldedStatus folded =
      fold(kSent, std::vector{at(schema::Status::delivered, 5), at(schema::Status::delivered, 9),
                              at(schema::Status::opened, 7), at(schema::Status::opened, 3)});
  EXPECT_EQ(folded.times[schema::Status::delivered], kSent + 9);
  EXPECT_EQ(folded.times[schema::Status::opened], kSent + 3);
}

// STATUS-6
TEST(Fold, OnlyTheEarlierClaimTimeIsKept) {
  const FoldedStatus folded =
      fold(kSent, std::vector{at(schema::Status::redeemed, 9), at(schema::Status::donated, 5)});
  EXPECT_EQ(folded.times[schema::Status::donated], kSent + 5);
  EXPECT_EQ(folded.times[schema::Status::redeemed], std::nullopt);
}

std::vector<schema::store::StatusChange> random_changes(std::mt19937& random) {
  std::vector<schema::store::StatusChange> changes(random() % 12);
  for (schema::store::StatusChange& change : changes) {
    change = at(schema::kAllStatuses[random() % schema::kAllStatuses.size()],
                static_cast<std::int64_t>(random() % 6));
  }
  return changes;
}

TEST(FoldProperty, AnyOrderAndRepetitionFoldTheSame) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 5000; ++round) {
    std::vector<schema::store::StatusChange> changes = random_changes(random);
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
    ASSERT_FALSE(folded.times[schema::Status::redeemed] && folded.times[schema::Status::donated]);
  }
}

TEST(ConflictReason, FlagsTheLoserOnly) {
  const std::vector changes{at(schema::Status::redeemed, 9), at(schema::Status::donated, 5),
                            at(schema::Status::opened, 1)};
  EXPECT_EQ(conflict_reason(changes[0], changes), "redeemed after it was donated");
  EXPECT_EQ(conflict_reason(changes[1], changes), "");
  EXPECT_EQ(conflict_reason(changes[2], changes), "");
}

TEST(ConflictReason, FlagsAnOutcomeAfterTheEnd) {
  const std::vector changes{at(schema::Status::expired, 5), at(schema::Status::redeemed, 9)};
  EXPECT_EQ(conflict_reason(changes[1], changes), "redeemed after it was expired");
}

// STATUS-16
TEST(TimeError, AcceptsPlausibleTimes) {
  const platform::UtcMillis now{1'800'000'000'000};
  EXPECT_EQ(time_error(now, now), "");
  EXPECT_EQ(time_error(now + platform::kDayMillis, now), "");
  EXPECT_NE(time_error(now + platform::kDayMillis + 1, now), "");
  EXPECT_EQ(time_error({946'684'800'000}, now), "");
  EXPECT_NE(time_error({946'684'799'999}, now), "");
}

}  // namespace
}  // namespace giftsync::sync
