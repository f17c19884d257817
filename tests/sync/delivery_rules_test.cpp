// The outcome of one delivery attempt, as a table (MAIL-1, MAIL-2, MAIL-3, MAIL-6).
#include "sync/mail/delivery_rules.h"

#include <gtest/gtest.h>

namespace giftsync::sync {
namespace {

constexpr UtcMillis kFirst{1'800'000'000'000};
constexpr DeliveryPolicy kDefault{};

TEST(AfterAttempt, AcceptedMeansDelivered) {
  const DeliveryTransition next = after_attempt(SendOutcome::accepted, 1, kFirst, kFirst, kDefault);
  EXPECT_EQ(next.state, DeliveryState::accepted);
  EXPECT_EQ(next.status, Status::delivered);
}

TEST(AfterAttempt, AcceptedIsNotDeliveredWhenDeliveryIsReportedExternally) {
  const DeliveryTransition next = after_attempt(SendOutcome::accepted, 1, kFirst, kFirst, {false, false});
  EXPECT_EQ(next.state, DeliveryState::accepted);
  EXPECT_EQ(next.status, std::nullopt);
}

TEST(AfterAttempt, RefusedIsUndeliveredImmediately) {
  const DeliveryTransition next = after_attempt(SendOutcome::refused, 1, kFirst, kFirst, kDefault);
  EXPECT_EQ(next.state, DeliveryState::undelivered);
  EXPECT_EQ(next.status, Status::undelivered);
}

TEST(AfterAttempt, TryLaterWaitsLongerEachTimeAndGivesUpAfterADay) {
  std::int64_t last_wait = 0;
  for (std::int64_t attempt = 1; attempt < 10; ++attempt) {
    const DeliveryTransition next =
        after_attempt(SendOutcome::try_later, attempt, kFirst, kFirst + 1000, kDefault);
    EXPECT_EQ(next.state, DeliveryState::queued);
    EXPECT_EQ(next.status, std::nullopt);
    const std::int64_t wait = next.next_attempt_at.value - kFirst.value - 1000;
    EXPECT_GE(wait, last_wait);
    EXPECT_LE(wait, kHourMillis);
    last_wait = wait;
  }
  const DeliveryTransition before =
      after_attempt(SendOutcome::try_later, 30, kFirst, kFirst + kDayMillis - 1, kDefault);
  EXPECT_EQ(before.state, DeliveryState::queued);
  const DeliveryTransition after =
      after_attempt(SendOutcome::try_later, 30, kFirst, kFirst + kDayMillis, kDefault);
  EXPECT_EQ(after.state, DeliveryState::undelivered);
  EXPECT_EQ(after.status, Status::undelivered);
}

TEST(AfterAttempt, TransportErrorNeverMakesMailUndelivered) {
  for (const std::int64_t days : {0, 1, 30}) {
    const DeliveryTransition next =
        after_attempt(SendOutcome::transport_error, 100, kFirst, kFirst + days * kDayMillis, kDefault);
    EXPECT_EQ(next.state, DeliveryState::queued);
    EXPECT_EQ(next.status, std::nullopt);
  }
}

// LIFE-17
TEST(AfterAttempt, NoGiveUpWhileTheClockIsDoubtful) {
  DeliveryPolicy in_doubt;
  in_doubt.may_give_up = false;
  const UtcMillis later = kFirst + 50 * kDayMillis;
  const DeliveryTransition next = after_attempt(SendOutcome::try_later, 30, kFirst, later, in_doubt);
  EXPECT_EQ(next.state, DeliveryState::queued);
  EXPECT_EQ(next.status, std::nullopt);
  EXPECT_EQ(next.next_attempt_at, later + kMaxDeferredRetryMillis);
  EXPECT_EQ(after_attempt(SendOutcome::refused, 30, kFirst, later, in_doubt).state,
            DeliveryState::undelivered)
      << "the recipient's server decides, not the clock";
}

TEST(AfterAttempt, UncertainRetriesAfterFifteenMinutesOrIsHeld) {
  const DeliveryTransition retry = after_attempt(SendOutcome::uncertain, 1, kFirst, kFirst, kDefault);
  EXPECT_EQ(retry.state, DeliveryState::uncertain);
  EXPECT_EQ(retry.next_attempt_at, kFirst + 15 * kMinuteMillis);
  EXPECT_EQ(after_attempt(SendOutcome::uncertain, 1, kFirst, kFirst, {true, true}).state,
            DeliveryState::held);
}

TEST(AfterAttempt, UncertainMailIsHeldAfterMaxRetries) {
  EXPECT_EQ(after_attempt(SendOutcome::uncertain, 3, kFirst, kFirst, kDefault, 2).state,
            DeliveryState::uncertain);
  EXPECT_EQ(after_attempt(SendOutcome::uncertain, 4, kFirst, kFirst, kDefault, 3).state, DeliveryState::held);
}

// SYNC-25
TEST(BackoffDelays, DoubleUpToTheMaximum) {
  EXPECT_EQ(pause_millis(1), 5000);
  EXPECT_EQ(pause_millis(2), 10000);
  EXPECT_EQ(pause_millis(50), 5 * kMinuteMillis);
  EXPECT_EQ(sync_retry_millis(1), 2000);
  EXPECT_EQ(sync_retry_millis(100), 10 * kMinuteMillis);
  EXPECT_EQ(rejected_retry_millis(1), 2000);
  EXPECT_EQ(rejected_retry_millis(12), 4096 * 1000);
  EXPECT_EQ(rejected_retry_millis(100), kDayMillis);
}

// SYNC-67
TEST(BatchSize, ShrinksWithASlowOrFailingCrmAndGrowsWithAQuickOne) {
  struct Case {
    std::size_t rows;
    std::int64_t millis;
    bool has_failed;
    std::size_t next;
  };
  for (const Case& one :
       {Case{200, 10'000, false, 100}, Case{200, 9'999, false, 200}, Case{200, 1'999, false, 200},
        Case{50, 1'999, false, 100}, Case{150, 100, false, 200}, Case{200, 100, true, 100},
        Case{3, 90'000, false, 1}, Case{1, 90'000, true, 1}, Case{1, 100, false, 2}})
    EXPECT_EQ(next_batch_rows(one.rows, one.millis, one.has_failed, 200), one.next)
        << one.rows << " rows, " << one.millis << " ms";
}

}  // namespace
}  // namespace giftsync::sync
