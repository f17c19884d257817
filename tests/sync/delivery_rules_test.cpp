// What follows from one attempt to deliver a mail: the table of design 3.5.
#include "sync/delivery_rules.h"

#include <gtest/gtest.h>

namespace giftsync::sync {
namespace {

using schema::DeliveryState;
using schema::Status;
using schema::UtcMillis;

constexpr UtcMillis kFirst{1'800'000'000'000};
constexpr DeliveryPolicy kDefault{};

TEST(AfterAttempt, AcceptedMeansDelivered) {
  const DeliveryNext next = after_attempt(SendVerdict::accepted, 1, kFirst, kFirst, kDefault);
  EXPECT_EQ(next.state, DeliveryState::accepted);
  EXPECT_EQ(next.status, Status::delivered);
}

TEST(AfterAttempt, AcceptedMeansNothingYetWhenSomebodyElseReports) {
  const DeliveryNext next = after_attempt(SendVerdict::accepted, 1, kFirst, kFirst, {false, false});
  EXPECT_EQ(next.state, DeliveryState::accepted);
  EXPECT_EQ(next.status, std::nullopt);
}

TEST(AfterAttempt, RefusedIsUndeliveredAtOnce) {
  const DeliveryNext next = after_attempt(SendVerdict::refused, 1, kFirst, kFirst, kDefault);
  EXPECT_EQ(next.state, DeliveryState::undelivered);
  EXPECT_EQ(next.status, Status::undelivered);
}

TEST(AfterAttempt, TryLaterWaitsLongerEachTimeAndGivesUpAfterADay) {
  std::int64_t last_wait = 0;
  for (std::int64_t attempt = 1; attempt < 10; ++attempt) {
    const DeliveryNext next = after_attempt(SendVerdict::try_later, attempt, kFirst, kFirst + 1000, kDefault);
    EXPECT_EQ(next.state, DeliveryState::queued);
    EXPECT_EQ(next.status, std::nullopt);
    const std::int64_t wait = next.due_at.value - kFirst.value - 1000;
    EXPECT_GE(wait, last_wait);
    EXPECT_LE(wait, schema::kHourMillis);
    last_wait = wait;
  }
  const DeliveryNext before =
      after_attempt(SendVerdict::try_later, 30, kFirst, kFirst + schema::kDayMillis - 1, kDefault);
  EXPECT_EQ(before.state, DeliveryState::queued);
  const DeliveryNext after =
      after_attempt(SendVerdict::try_later, 30, kFirst, kFirst + schema::kDayMillis, kDefault);
  EXPECT_EQ(after.state, DeliveryState::undelivered);
  EXPECT_EQ(after.status, Status::undelivered);
}

TEST(AfterAttempt, ATransportFaultNeverMakesAnythingUndelivered) {
  for (const std::int64_t days : {0, 1, 30}) {
    const DeliveryNext next = after_attempt(SendVerdict::transport_fault, 100, kFirst,
                                            kFirst + days * schema::kDayMillis, kDefault);
    EXPECT_EQ(next.state, DeliveryState::queued);
    EXPECT_EQ(next.status, std::nullopt);
  }
}

TEST(AfterAttempt, PatienceDoesNotEndByAClockInDoubt) {
  DeliveryPolicy in_doubt;
  in_doubt.may_give_up = false;
  const schema::UtcMillis later = kFirst + 50 * schema::kDayMillis;
  const DeliveryNext next = after_attempt(SendVerdict::try_later, 30, kFirst, later, in_doubt);
  EXPECT_EQ(next.state, DeliveryState::queued);
  EXPECT_EQ(next.status, std::nullopt);
  EXPECT_EQ(next.due_at, later + kLongestPutOffMillis);
  EXPECT_EQ(after_attempt(SendVerdict::refused, 30, kFirst, later, in_doubt).state,
            DeliveryState::undelivered)
      << "that is the recipient's server's word, not the clock's";
}

TEST(AfterAttempt, UncertainWaitsAQuarterOfAnHourOrForTheAdmin) {
  const DeliveryNext retry = after_attempt(SendVerdict::uncertain, 1, kFirst, kFirst, kDefault);
  EXPECT_EQ(retry.state, DeliveryState::uncertain);
  EXPECT_EQ(retry.due_at, kFirst + 15 * schema::kMinuteMillis);
  EXPECT_EQ(after_attempt(SendVerdict::uncertain, 1, kFirst, kFirst, {true, true}).state,
            DeliveryState::held);
}

TEST(AfterAttempt, AnUncertainMailIsNotRepeatedForEver) {
  EXPECT_EQ(after_attempt(SendVerdict::uncertain, 3, kFirst, kFirst, kDefault, 2).state,
            DeliveryState::uncertain);
  EXPECT_EQ(after_attempt(SendVerdict::uncertain, 4, kFirst, kFirst, kDefault, 3).state, DeliveryState::held);
}

TEST(Pauses, DoubleUpToTheirLimit) {
  EXPECT_EQ(pause_millis(1), 5000);
  EXPECT_EQ(pause_millis(2), 10000);
  EXPECT_EQ(pause_millis(50), 5 * schema::kMinuteMillis);
  EXPECT_EQ(sync_retry_millis(1), 2000);
  EXPECT_EQ(sync_retry_millis(100), 10 * schema::kMinuteMillis);
}

}  // namespace
}  // namespace giftsync::sync
