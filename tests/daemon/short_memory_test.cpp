// What the store said counts for half a second, and one caller at a time asks again.
#include "daemon/short_memory.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>

namespace giftsync::daemon {
namespace {

class ShortMemoryTest : public testing::Test {
 protected:
  schema::UtcMillis now_{1'800'000'000'000};
  std::optional<int> answer_ = 1;
  int looks_ = 0;
  std::function<void()> during_look_ = [] {};
  ShortMemory<int, int> memory_{[this] { return now_; },
                                [this](int) {
                                  ++looks_;
                                  const auto answer = answer_;
                                  std::exchange(during_look_, [] {})();
                                  return answer;
                                }};
};

TEST_F(ShortMemoryTest, RemembersForHalfASecond) {
  EXPECT_EQ(*memory_.get(7), 1);
  answer_ = 2;
  now_ = now_ + 499;
  EXPECT_EQ(*memory_.get(7), 1);
  now_ = now_ + 1;
  EXPECT_EQ(*memory_.get(7), 2);
  EXPECT_EQ(looks_, 2);
}

TEST_F(ShortMemoryTest, WhatIsAbsentIsAskedForEachTime) {
  answer_.reset();
  EXPECT_EQ(memory_.get(7), nullptr);
  answer_ = 3;
  EXPECT_EQ(*memory_.get(7), 3) << "what was just made is found at once";
}

TEST_F(ShortMemoryTest, OthersGoOnWithTheOldAnswerWhileOneLooks) {
  memory_.get(7);
  now_ = now_ + 500;
  answer_ = 2;
  during_look_ = [this] {
    EXPECT_EQ(*memory_.get(7), 1);
    EXPECT_EQ(looks_, 2) << "one looks already";
  };
  EXPECT_EQ(*memory_.get(7), 2);
}

TEST_F(ShortMemoryTest, NoAnswerOutlivesASecondThoughALookFails) {
  memory_.get(7);
  now_ = now_ + 500;
  const auto fail = [] { throw std::runtime_error("the store is gone"); };
  during_look_ = fail;
  EXPECT_THROW(memory_.get(7), std::runtime_error);
  EXPECT_EQ(*memory_.get(7), 1);
  now_ = now_ + 300;
  during_look_ = fail;
  EXPECT_THROW(memory_.get(7), std::runtime_error);
}

TEST_F(ShortMemoryTest, AClockSetBackKeepsNothingForEver) {
  memory_.get(7);
  answer_ = 2;
  now_ = now_ + -schema::kDayMillis;
  EXPECT_EQ(*memory_.get(7), 2);
}

}  // namespace
}  // namespace giftsync::daemon
