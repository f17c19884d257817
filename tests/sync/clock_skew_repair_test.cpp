// Clock skew repair: retry times beyond the maximum backoff are reset, all others are kept.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/mail/delivery_rules.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClockSkewRepairTest : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  /// Everything fails until it has reached its maximum wait.
  void set_longest_waits() {
    store_->deliveries.open_breaker({kNow, kNow + pause_millis(50), 50, "no route"});
    const TransactionId gift = one_gift();
    const auto mails = store_->deliveries.claim("a", 60'000, 10, kNow);
    const store::DeliveryQueue::Sending sending{mails.at(0), "m"};
    store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, kNow);
    const DeliveryTransition next = after_attempt(SendOutcome::try_later, 50, kNow, kNow, {});
    const store::DeliveryOutcome put_off{gift,  1,    next.state,  next.next_attempt_at,
                                         "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&put_off, 1), kNow);
    const auto marks = store_->sync.claim("a", 60'000, 10, kNow);
    const store::SyncClose failed{marks.at(0), false, kNow + sync_retry_millis(50), "no", std::nullopt};
    store_->sync.close("a", std::span(&failed, 1));
    store::RequestRecordEntry known;
    known.record_id = "a";
    known.state = store::RequestRecordState::approved;
    known.failures = 50;
    known.next_attempt_at = kNow + sync_retry_millis(50);
    const store::RequestRecordEntryUpdate change{known, {}};
    ASSERT_THAT(store_->request_records.save(std::span(&change, 1)), SizeIs(1));
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, ClockSkewRepairTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(ClockSkewRepairTest, MaximumWaitsAreKept) {
  set_longest_waits();
  EXPECT_THAT(describe(repair_clock_skew(*store_, kNow, kNow)), IsEmpty());
  EXPECT_EQ(store_->deliveries.breaker("")->until, kNow + kMaxPauseMillis);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, kNow + kMaxMailRetryMillis - 1), IsEmpty());
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow + kMaxSyncRetryMillis - 1), IsEmpty());
  EXPECT_THAT(store_->request_records.find_due(kNow + kMaxSyncRetryMillis - 1, 10), IsEmpty());
}

// LIFE-19
TEST_P(ClockSkewRepairTest, ARejectedRecordMayRestForADay) {
  one_gift();
  const auto marks = store_->sync.claim("a", 60'000, 10, kNow);
  store::SyncClose rejected{marks.at(0), false, kNow + kMaxRejectedRetryMillis, "no", std::nullopt};
  rejected.is_rejected = true;
  store_->sync.close("a", std::span(&rejected, 1));
  EXPECT_EQ(repair_clock_skew(*store_, kNow, kNow).gifts, 0);
  EXPECT_EQ(repair_clock_skew(*store_, kNow - 1, kNow - 1).gifts, 1);
}

// LIFE-19
TEST_P(ClockSkewRepairTest, WaitsBeyondTheMaximumEndImmediately) {
  set_longest_waits();
  const UtcMillis corrected_now = kNow - 6 * kHourMillis;
  const ClockSkewRepair repaired = repair_clock_skew(*store_, corrected_now, corrected_now);
  EXPECT_TRUE(repaired.pause);
  EXPECT_EQ(repaired.mails, 1);
  EXPECT_EQ(repaired.gifts, 1);
  EXPECT_EQ(repaired.requests, 1);
  EXPECT_THAT(describe(repaired),
              HasSubstr("mail delivery pause, 1 mails, 1 gift records, 1 request records"));
  EXPECT_EQ(store_->deliveries.breaker("")->until, corrected_now);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, corrected_now), SizeIs(1));
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, corrected_now), SizeIs(1));
  EXPECT_THAT(store_->request_records.find_due(corrected_now, 10), SizeIs(1));
  EXPECT_THAT(describe(repair_clock_skew(*store_, corrected_now, corrected_now)), IsEmpty())
      << "reported once";
}

// LIFE-21
TEST_P(ClockSkewRepairTest, DaemonsWithDifferentClocksResetEachOthersWaitsAndLoseNothing) {
  set_longest_waits();  // by the daemon whose clock is ahead
  const UtcMillis behind = kNow - 6 * kHourMillis;
  EXPECT_THAT(describe(repair_clock_skew(*store_, behind, behind)), HasSubstr("1 mails, 1 gift records"));
  for (const UtcMillis now : {behind, kNow}) {
    const std::string owner = now == kNow ? "ahead" : "behind";
    const auto marks = store_->sync.claim(owner, 60'000, 10, now);
    ASSERT_THAT(marks, SizeIs(1)) << owner << " retries it";
    const store::SyncClose failed{marks.front(), false, now + sync_retry_millis(50), "no", std::nullopt};
    store_->sync.close(owner, std::span(&failed, 1));
    const UtcMillis others = now == kNow ? behind : kNow;
    EXPECT_EQ(describe(repair_clock_skew(*store_, others, others)).empty(), others == kNow);
  }
}

}  // namespace
}  // namespace giftsync::sync
