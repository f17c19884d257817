// A clock that was ahead leaves waits that no rule can have made: they end, and none that a rule has made
// does.
#include "sync/false_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/delivery_rules.h"
#include "tests/schema/store_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class FalseWaitsTest : public StoreGround {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  /// Everything fails as often as it takes to wait longest.
  void let_all_wait() {
    store_->deliveries.set_pause({kNow, kNow + pause_millis(50), 50, "no route"});
    const TransactionId gift = one_gift();
    const auto mails = store_->deliveries.claim("a", 60'000, 10, kNow);
    const DeliveryQueue::Sending sending{mails.at(0), "m"};
    store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, kNow);
    const DeliveryNext next = after_attempt(SendVerdict::try_later, 50, kNow, kNow, {});
    const DeliveryOutcome put_off{gift, 1, next.state, next.due_at, "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&put_off, 1), kNow);
    const auto marks = store_->sync.claim("a", 60'000, 10, kNow);
    const SyncClose failed{marks.at(0), false, kNow + sync_retry_millis(50), "no", std::nullopt};
    store_->sync.close("a", std::span(&failed, 1));
    KnownRequest known;
    known.key = "a";
    known.state = RequestState::approved;
    known.failures = 50;
    known.due_at = kNow + sync_retry_millis(50);
    const RequestChange change{known, {}};
    ASSERT_THAT(store_->requests.save(std::span(&change, 1)), SizeIs(1));
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, FalseWaitsTest, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(FalseWaitsTest, TheLongestWaitOfEachRuleIsLeftAlone) {
  let_all_wait();
  EXPECT_THAT(in_words(end_false_waits(*store_, kNow, kNow)), IsEmpty());
  EXPECT_EQ(store_->deliveries.pause()->until, kNow + kLongestPauseMillis);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, kNow + kLongestMailWaitMillis - 1), IsEmpty());
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow + kLongestSyncRetryMillis - 1), IsEmpty());
  EXPECT_THAT(store_->requests.due(kNow + kLongestSyncRetryMillis - 1, 10), IsEmpty());
}

TEST_P(FalseWaitsTest, WhatIsBeyondItGoesOnAtOnce) {
  let_all_wait();
  const UtcMillis put_right = kNow - 6 * kHourMillis;
  const FalseWaits ended = end_false_waits(*store_, put_right, put_right);
  EXPECT_TRUE(ended.pause);
  EXPECT_EQ(ended.mails, 1);
  EXPECT_EQ(ended.gifts, 1);
  EXPECT_EQ(ended.requests, 1);
  EXPECT_THAT(in_words(ended), HasSubstr("the outbox's rest, 1 mails, 1 gifts for the CRM, 1 requests"));
  EXPECT_EQ(store_->deliveries.pause()->until, put_right);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, put_right), SizeIs(1));
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, put_right), SizeIs(1));
  EXPECT_THAT(store_->requests.due(put_right, 10), SizeIs(1));
  EXPECT_THAT(in_words(end_false_waits(*store_, put_right, put_right)), IsEmpty()) << "told once";
}

}  // namespace
}  // namespace giftsync::sync
