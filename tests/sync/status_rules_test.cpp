// The status of a transaction as a pure function of its changes: a table of the rules, and properties over
// random sets of changes in any order and with any repetition (design 3.1).
#include "sync/status_rules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace giftsync::sync {
namespace {

using schema::Status;
using schema::StatusChange;
using schema::UtcMillis;

constexpr UtcMillis kSent{1'800'000'000'000};

StatusChange at(Status status, std::int64_t after_millis) {
  return {{}, "test", {1}, status, kSent + after_millis, kSent + after_millis, {}};
}

struct Rule {
  const char* says;
  std::vector<StatusChange> changes;
  Status status;
};

class StatusTable : public testing::TestWithParam<Rule> {};

TEST_P(StatusTable, Holds) {
  EXPECT_EQ(fold(kSent, GetParam().changes).status, GetParam().status) << GetParam().says;
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
        Rule{"a report of sent moves nothing", {at(Status::sent, -500)}, Status::sent},
        Rule{"before Sent At is accepted", {at(Status::opened, -500)}, Status::opened}));

TEST(Fold, InventsNoTimes) {
  const FoldedStatus folded = fold(kSent, std::vector{at(Status::redeemed, 9)});
  EXPECT_EQ(folded.times[Status::opened], std::nullopt);
  EXPECT_EQ(folded.times[Status::delivered], std::nullopt);
  EXPECT_EQ(folded.times[Status::sent], kSent);
}

TEST(Fold, KeepsTheLatestDeliveryAndTheEarliestOfAllElse) {
  const FoldedStatus folded = fold(kSent, std::vector{at(Status::delivered, 5), at(Status::delivered, 9),
                                                      at(Status::opened, 7), at(Status::opened, 3)});
  EXPECT_EQ(folded.times[Status::delivered], kSent + 9);
  EXPECT_EQ(folded.times[Status::opened], kSent + 3);
}

TEST(Fold, OnlyTheWinnersTimeStands) {
  const FoldedStatus folded = fold(kSent, std::vector{at(Status::redeemed, 9), at(Status::donated, 5)});
  EXPECT_EQ(folded.times[Status::donated], kSent + 5);
  EXPECT_EQ(folded.times[Status::redeemed], std::nullopt);
}

std::vector<StatusChange> random_changes(std::mt19937& random) {
  std::vector<StatusChange> changes(random() % 12);
  for (StatusChange& change : changes) {
    change = at(schema::kAllStatuses[random() % schema::kAllStatuses.size()],
                static_cast<std::int64_t>(random() % 6));
  }
  return changes;
}

TEST(FoldProperty, AnyOrderAndAnyRepetitionGiveTheSame) {
  std::mt19937 random(20261121);
  for (int round = 0; round < 5000; ++round) {
    std::vector<StatusChange> changes = random_changes(random);
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

TEST(Contradiction, FlagsTheLoserOnly) {
  const std::vector changes{at(Status::redeemed, 9), at(Status::donated, 5), at(Status::opened, 1)};
  EXPECT_EQ(contradiction(changes[0], changes), "redeemed after it was donated");
  EXPECT_EQ(contradiction(changes[1], changes), "");
  EXPECT_EQ(contradiction(changes[2], changes), "");
}

TEST(Contradiction, FlagsAnOutcomeAfterTheEnd) {
  const std::vector changes{at(Status::expired, 5), at(Status::redeemed, 9)};
  EXPECT_EQ(contradiction(changes[1], changes), "redeemed after it was expired");
}

TEST(TimeFault, BelievesWhatIsPlausible) {
  const UtcMillis now{1'800'000'000'000};
  EXPECT_EQ(time_fault(now, now), "");
  EXPECT_EQ(time_fault(now + schema::kDayMillis, now), "");
  EXPECT_NE(time_fault(now + schema::kDayMillis + 1, now), "");
  EXPECT_EQ(time_fault({946'684'800'000}, now), "");
  EXPECT_NE(time_fault({946'684'799'999}, now), "");
}

}  // namespace
}  // namespace giftsync::sync
