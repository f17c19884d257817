#include "platform/fixed_window_limiter.h"

#include <gtest/gtest.h>

#include <string>

namespace giftsync {
namespace {

constexpr UtcMillis kStart{1'700'000'000'000};

TEST(FixedWindowLimiter, CountsDownAndRefusesWhatIsBeyondTheLimit) {
  FixedWindowLimiter<std::string> limiter(2, kMinuteMillis, 10);
  EXPECT_EQ(limiter.count("a", kStart).remaining, 1);
  const auto second = limiter.count("a", kStart + 1);
  EXPECT_FALSE(second.is_exceeded);
  EXPECT_EQ(second.remaining, 0);
  const auto third = limiter.count("a", kStart + 30'001);
  EXPECT_TRUE(third.is_exceeded);
  EXPECT_EQ(third.remaining, 0);
  EXPECT_EQ(third.reset_seconds, 30);
}

TEST(FixedWindowLimiter, KeysAreCountedApart) {
  FixedWindowLimiter<std::string> limiter(1, kMinuteMillis, 10);
  EXPECT_FALSE(limiter.count("a", kStart).is_exceeded);
  EXPECT_FALSE(limiter.count("b", kStart).is_exceeded);
  EXPECT_TRUE(limiter.count("a", kStart).is_exceeded);
}

TEST(FixedWindowLimiter, AWindowEndsWithItsTimeAndWhenTheClockWasSetBack) {
  FixedWindowLimiter<std::string> limiter(1, kMinuteMillis, 10);
  EXPECT_FALSE(limiter.count("a", kStart).is_exceeded);
  EXPECT_TRUE(limiter.count("a", kStart + kMinuteMillis - 1).is_exceeded);
  EXPECT_FALSE(limiter.count("a", kStart + kMinuteMillis).is_exceeded);
  EXPECT_FALSE(limiter.count("a", kStart - 1).is_exceeded);
}

TEST(FixedWindowLimiter, TheNumberOfKeysIsBounded) {
  FixedWindowLimiter<int> limiter(1, kMinuteMillis, 3);
  for (int key = 0; key < 3; ++key) EXPECT_FALSE(limiter.count(key, kStart).is_exceeded);
  EXPECT_TRUE(limiter.count(0, kStart).is_exceeded) << "a known key is never dropped to fit";
  EXPECT_FALSE(limiter.count(3, kStart).is_exceeded);
  EXPECT_FALSE(limiter.count(0, kStart).is_exceeded) << "all windows were dropped at the limit of keys";
}

}  // namespace
}  // namespace giftsync
