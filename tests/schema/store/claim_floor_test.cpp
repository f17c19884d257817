// Where the claims of a queue begin to read.
#include <gtest/gtest.h>

#include <vector>

#include "schema/store/statements/claims.h"

namespace giftsync::store {
namespace {
using Time = std::optional<UtcMillis>;

constexpr UtcMillis kNow{1'800'000'000'000};

struct Queue {
  Time smallest;
  std::vector<Time> looks;
  ClaimLowerBound floor;

  Time find(UtcMillis now) {
    return floor.find(now, [this](Time from) {
      looks.push_back(from);
      return smallest;
    });
  }
};

// ARCH-44
TEST(ClaimLowerBound, QueueOfFewRowsIsReadFromTheBeginning) {
  Queue queue;
  queue.floor.count(ClaimLowerBound::kManyRows - 1);
  EXPECT_EQ(queue.find(kNow), std::nullopt);
  EXPECT_TRUE(queue.looks.empty());
  queue.floor.count(1);
  EXPECT_NE(queue.find(kNow), std::nullopt);
}

TEST(ClaimLowerBound, IsBelowTheSmallestTimeAndBelowWhatMayComeInLate) {
  Queue queue;
  queue.floor.count(ClaimLowerBound::kManyRows);
  EXPECT_EQ(queue.find(kNow), kNow - ClaimLowerBound::kLateMillis) << "an empty queue";
  queue.smallest = kNow - 60'000;
  EXPECT_EQ(queue.find(kNow + ClaimLowerBound::kWholeLookMillis), kNow - 60'000) << "found by the whole look";
}

TEST(ClaimLowerBound, LooksEachSecondFromTheFloorAndEachFiveSecondsFromTheBeginning) {
  Queue queue;
  queue.floor.count(ClaimLowerBound::kManyRows);
  for (std::int64_t passed = 0; passed <= ClaimLowerBound::kWholeLookMillis; passed += 500)
    queue.find(kNow + passed);
  std::size_t whole = 0;
  for (const Time& look : queue.looks) whole += look ? 0 : 1;
  EXPECT_EQ(queue.looks.size(), 6u);
  EXPECT_EQ(whole, 2u);
}

TEST(ClaimLowerBound, ClockThatIsSetBackIsFollowed) {
  Queue queue;
  queue.floor.count(ClaimLowerBound::kManyRows);
  queue.find(kNow);
  EXPECT_EQ(queue.find(kNow - 3'600'000), kNow - 3'600'000 - ClaimLowerBound::kLateMillis);
}

}  // namespace
}  // namespace giftsync::store
