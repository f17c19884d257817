#include "daemon/handlers/recent_gifts.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

namespace giftsync::handlers {
namespace {

constexpr UtcMillis kStart{1'795'264'267'000};

class RecentGiftsTest : public ::testing::Test {
 protected:
  using Gift = RecentGifts::Gift;

  /// The request that had the gift before; 0 for none.
  std::int64_t earlier_of(const Gift& gift, std::int64_t request) {
    const auto earlier = recent_.remember(gift, {request});
    return earlier ? earlier->request.value : 0;
  }

  const Gift gift_{{1}, {7}, "rose@example.com", "Thank you!"};
  UtcMillis now_ = kStart;
  RecentGifts recent_{[this] { return now_; }};
};

// HTTP-52
TEST_F(RecentGiftsTest, TellsTheLastOtherRequestAndItsAge) {
  EXPECT_EQ(earlier_of(gift_, 41), 0);
  now_ = kStart + 12'999;
  const auto second = recent_.remember(gift_, {42});
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(second->request, GiftRequestId{41});
  EXPECT_EQ(second->seconds_ago, 12);
  EXPECT_EQ(earlier_of(gift_, 43), 42);
}

// covers: VALID-1
TEST_F(RecentGiftsTest, FindingRemembersNothingAndTellsWhatRememberingWould) {
  const Gift other{{1}, {7}, "kim@example.com", "Thank you!"};
  const std::array<Gift, 3> gifts{gift_, gift_, other};
  const auto requests_found = [&] {
    std::vector<std::int64_t> found;
    for (const auto& earlier : recent_.find(gifts)) found.push_back(earlier ? earlier->request.value : 0);
    return found;
  };
  EXPECT_EQ(requests_found(), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_EQ(earlier_of(gift_, 41), 0) << "finding it was not remembered";
  EXPECT_EQ(requests_found(), (std::vector<std::int64_t>{41, 0, 0})) << "the second is of the same request";
  EXPECT_EQ(earlier_of(gift_, 42), 41);
  now_ = now_ + 61 * kSecondMillis;
  EXPECT_EQ(requests_found(), (std::vector<std::int64_t>{0, 0, 0}));
}

// HTTP-52
TEST_F(RecentGiftsTest, SixtySecondsEndTheMemory) {
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  now_ = kStart + 59 * kSecondMillis;
  EXPECT_EQ(earlier_of(gift_, 2), 1);
  now_ = now_ + 61 * kSecondMillis;
  EXPECT_EQ(earlier_of(gift_, 3), 0);
  now_ = now_ + 60 * kSecondMillis;
  EXPECT_EQ(earlier_of(gift_, 4), 0);
}

TEST_F(RecentGiftsTest, AYoungerRequestIsRememberedWhenTheOlderIsForgotten) {
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  now_ = kStart + 40 * kSecondMillis;
  EXPECT_EQ(earlier_of(gift_, 2), 1);
  now_ = kStart + 80 * kSecondMillis;
  EXPECT_EQ(earlier_of(gift_, 3), 2);
}

// HTTP-52
TEST_F(RecentGiftsTest, AccountItemAddressAndMessageMakeAGift) {
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  std::int64_t request = 1;
  for (const Gift& other :
       {Gift{{2}, {7}, "rose@example.com", "Thank you!"}, Gift{{1}, {8}, "rose@example.com", "Thank you!"},
        Gift{{1}, {7}, "kim@example.com", "Thank you!"}, Gift{{1}, {7}, "rose@example.com", "Thank you! "},
        Gift{{1}, {7}, "rose@example.com", "thank you!"},
        Gift{{17}, {7}, "rose@example.com", "Thank you!"}}) {
    EXPECT_EQ(earlier_of(other, ++request), 0) << request;
  }
  EXPECT_EQ(earlier_of({{1}, {7}, "Rose@EXAMPLE.com", "Thank you!"}, 20), 1) << "as addresses are compared";
}

// HTTP-52, HTTP-6
TEST_F(RecentGiftsTest, EqualRecipientsOfOneRequestAreNotEarlier) {
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  EXPECT_EQ(earlier_of(gift_, 2), 1);
  EXPECT_EQ(earlier_of(gift_, 2), 0);
}

TEST_F(RecentGiftsTest, AClockThatIsSetBackEndsTheMemory) {
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  now_ = kStart - 1;
  EXPECT_EQ(earlier_of(gift_, 2), 0);
  EXPECT_EQ(earlier_of(gift_, 3), 2);
}

// HTTP-52
TEST_F(RecentGiftsTest, BeyondTheLimitTheOldestIsForgotten) {
  EXPECT_EQ(earlier_of(gift_, 1), 0);
  const auto other = [](std::size_t number) { return std::to_string(number) + "@example.com"; };
  for (std::size_t i = 1; i < RecentGifts::kMaxRemembered; ++i)
    ASSERT_EQ(earlier_of({{1}, {7}, other(i), "m"}, 2), 0);
  EXPECT_EQ(earlier_of({{1}, {7}, other(RecentGifts::kMaxRemembered), "m"}, 3), 0) << "the 100,001st";
  EXPECT_EQ(earlier_of({{1}, {7}, other(2), "m"}, 4), 2);
  EXPECT_EQ(earlier_of(gift_, 5), 0) << "the oldest";
}

// HTTP-52
TEST_F(RecentGiftsTest, OfTwoRequestsAtTheSameTimeExactlyOneGetsTheOther) {
  constexpr std::size_t kGifts = 2'000;
  std::array<std::vector<std::int64_t>, 2> earlier;
  const auto ask = [&](std::size_t thread) {
    for (std::size_t i = 0; i < kGifts; ++i) {
      const std::string address = std::to_string(i) + "@example.com";
      earlier[thread].push_back(earlier_of({{1}, {7}, address, "m"}, static_cast<std::int64_t>(thread) + 1));
    }
  };
  std::thread other(ask, 1);
  ask(0);
  other.join();
  for (std::size_t i = 0; i < kGifts; ++i) {
    const bool is_first_warned = earlier[0][i] == 2 && earlier[1][i] == 0;
    const bool is_second_warned = earlier[0][i] == 0 && earlier[1][i] == 1;
    EXPECT_TRUE(is_first_warned || is_second_warned) << i << ": " << earlier[0][i] << ", " << earlier[1][i];
  }
}

}  // namespace
}  // namespace giftsync::handlers
