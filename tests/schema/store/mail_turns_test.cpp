// The turn of a new request's first mail (MAIL-29).
#include "schema/store/statements/mail_turns.h"

#include <gtest/gtest.h>

namespace giftsync::store {
namespace {

constexpr AccountId kOne{1};
constexpr AccountId kTwo{2};
constexpr UtcMillis kNow{1'800'000'000'000};

TEST(TurnSequence, RequestsOfOneAccountFollowEachOtherAndAccountsDoNotWaitForEachOther) {
  TurnSequence turns;
  turns.serve(100, kNow);
  EXPECT_EQ(turns.next(kOne), 100);
  EXPECT_EQ(turns.next(kOne), 101);
  EXPECT_EQ(turns.next(kOne), 102);
  EXPECT_EQ(turns.next(kTwo), 100);
}

TEST(TurnSequence, ARequestBeginsWhereTheServiceIs) {
  TurnSequence turns;
  turns.serve(100, kNow);
  for (int i = 0; i < 50; ++i) turns.next(kOne);
  turns.serve(120, kNow);
  EXPECT_EQ(turns.next(kTwo), 120) << "not before those that wait since long ago";
  EXPECT_EQ(turns.next(kOne), 150) << "it has 30 requests waiting";
  turns.serve(400, kNow);
  EXPECT_EQ(turns.next(kOne), 400);
}

TEST(TurnSequence, WithoutWaitingMailsTurnsFollowTheClock) {
  TurnSequence turns;
  EXPECT_EQ(turns.next(kOne), 1) << "0 is no turn";
  turns.serve(std::nullopt, kNow);
  EXPECT_EQ(turns.next(kOne), kNow.value);
  turns.serve(std::nullopt, kNow - 5000);
  EXPECT_EQ(turns.next(kOne), kNow.value + 1) << "an account's own turns do not go back with the clock";
  EXPECT_EQ(turns.next(kTwo), kNow.value - 5000);
}

TEST(TurnSequence, TurnsThatRanAheadOfTheClockReturnToItWhenNothingWaits) {
  TurnSequence turns;
  turns.serve(kNow.value + 90'000, kNow);
  EXPECT_EQ(turns.next(kOne), kNow.value + 90'000);
  turns.serve(std::nullopt, kNow + 1000);
  EXPECT_EQ(turns.next(kTwo), kNow.value + 1000) << "other processes' new requests begin there too";
}

TEST(TurnSequence, AccountsThatAreServedAreForgotten) {
  TurnSequence turns;
  turns.serve(1, kNow);
  for (std::int64_t account = 1; account <= 20'000; ++account) turns.next({account});
  turns.serve(10, kNow);
  EXPECT_EQ(turns.next({7}), 10);
}

}  // namespace
}  // namespace giftsync::store
