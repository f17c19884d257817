// A value is cached for half a second, and one caller at a time reloads it.
#include "platform/ttl_cache.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <utility>

namespace giftsync {
namespace {

class TtlCacheTest : public testing::Test {
 protected:
  UtcMillis now_{1'800'000'000'000};
  std::optional<int> value_ = 1;
  int loads_ = 0;
  std::function<void()> during_load_ = [] {};
  TtlCache<int, int> cache_{[this] { return now_; },
                            [this](int) {
                              ++loads_;
                              const auto value = value_;
                              std::exchange(during_load_, [] {})();
                              return value;
                            }};
};

TEST_F(TtlCacheTest, KeepsAValueForHalfASecond) {
  EXPECT_EQ(*cache_.get(7), 1);
  value_ = 2;
  now_ = now_ + 499;
  EXPECT_EQ(*cache_.get(7), 1);
  now_ = now_ + 1;
  EXPECT_EQ(*cache_.get(7), 2);
  EXPECT_EQ(loads_, 2);
}

TEST_F(TtlCacheTest, AbsentValuesAreNotCached) {
  value_.reset();
  EXPECT_EQ(cache_.get(7), nullptr);
  value_ = 3;
  EXPECT_EQ(*cache_.get(7), 3) << "a new row is found at once";
}

TEST_F(TtlCacheTest, OthersUseTheStaleValueWhileOneLoads) {
  cache_.get(7);
  now_ = now_ + 500;
  value_ = 2;
  during_load_ = [this] {
    EXPECT_EQ(*cache_.get(7), 1);
    EXPECT_EQ(loads_, 2) << "another caller is already loading";
  };
  EXPECT_EQ(*cache_.get(7), 2);
}

// HTTP-30
TEST_F(TtlCacheTest, NoValueOutlivesASecondEvenIfLoadingFails) {
  cache_.get(7);
  now_ = now_ + 500;
  const auto fail = [] { throw std::runtime_error("the store is unreachable"); };
  during_load_ = fail;
  EXPECT_THROW(cache_.get(7), std::runtime_error);
  EXPECT_EQ(*cache_.get(7), 1);
  now_ = now_ + 300;
  during_load_ = fail;
  EXPECT_THROW(cache_.get(7), std::runtime_error);
}

TEST_F(TtlCacheTest, AClockSetBackExpiresEntries) {
  cache_.get(7);
  value_ = 2;
  now_ = now_ + -kDayMillis;
  EXPECT_EQ(*cache_.get(7), 2);
}

}  // namespace
}  // namespace giftsync
