// The outbox over every back end: a mail is claimed under a lease, marked before it is sent, and its outcome
// told once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DeliveryQueueConformance : public StoreGround {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  bool begin(const std::string& owner, const DeliveryClaim& claim, const std::string& message_id,
             std::int64_t lease_millis) {
    const DeliveryQueue::Sending sending{claim, message_id};
    return store_->deliveries.begin_sending(owner, std::span(&sending, 1), lease_millis, kNow).front();
  }
  static StatusChange change(TransactionId id, Status status, std::int64_t after_millis) {
    return {{}, "import", id, status, kNow + after_millis, kNow + after_millis, {}};
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, DeliveryQueueConformance,
                         testing::Values(Dialect::sqlite, Dialect::postgresql), name_of_dialect);

TEST_P(DeliveryQueueConformance, QueuesAMailForEndpointAOnly) {
  one_gift(SendMode::urls);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, kNow), IsEmpty());
  const TransactionId id = one_gift(SendMode::email);
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction, id);
  EXPECT_EQ(claims[0].state, DeliveryState::queued);
  EXPECT_EQ(claims[0].attempt, 0);
}

TEST_P(DeliveryQueueConformance, AnAbandonedSendingIsSeenAsSuchWithItsMessageId) {
  one_gift();
  auto claims = store_->deliveries.claim("dead", 60'000, 10, kNow);
  ASSERT_TRUE(begin("dead", claims[0], "m1@example.com", -1));
  claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].state, DeliveryState::sending);
  EXPECT_EQ(claims[0].attempt, 1);
  EXPECT_EQ(claims[0].message_id, "m1@example.com");
  EXPECT_EQ(claims[0].first_try_at, std::nullopt)
      << "patience with a recipient does not run while a transport fails";
}

TEST_P(DeliveryQueueConformance, SendingBeginsOnlyUnderALiveLease) {
  one_gift();
  const auto expired = store_->deliveries.claim("a", -1, 10, kNow);
  EXPECT_FALSE(begin("a", expired[0], "m", 60'000));
  const auto claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  EXPECT_FALSE(begin("a", expired[0], "m", 60'000));
  EXPECT_TRUE(begin("b", claims[0], "m", 60'000));
}

TEST_P(DeliveryQueueConformance, AnOutcomeAndItsStatusChangeAreOne) {
  const TransactionId id = one_gift();
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", 60'000);
  DeliveryOutcome outcome{id,       1,     DeliveryState::accepted,         kNow,
                          "250 ok", false, change(id, Status::delivered, 5)};
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow + 5), 1u);
  EXPECT_EQ(store_->deliveries.row(id)->state, DeliveryState::accepted);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
  outcome.change = change(id, Status::undelivered, 6);
  outcome.state = DeliveryState::undelivered;
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow + 6), 0u)
      << "an accepted mail stays accepted";
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
}

TEST_P(DeliveryQueueConformance, AStaleAttemptTellsNothing) {
  const TransactionId id = one_gift();
  auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", -1);
  claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  begin("b", claims[0], "m", 60'000);
  const DeliveryOutcome stale{id,    1,     DeliveryState::undelivered,        kNow,
                              "550", false, change(id, Status::undelivered, 5)};
  EXPECT_EQ(store_->deliveries.finish(std::span(&stale, 1), kNow), 0u);
  EXPECT_EQ(store_->deliveries.row(id)->state, DeliveryState::sending);
}

TEST_P(DeliveryQueueConformance, TheSlowSenderOfAnUncertainMailMayStillTell) {
  const TransactionId id = one_gift();
  auto claims = store_->deliveries.claim("slow", 60'000, 10, kNow);
  begin("slow", claims[0], "m", -1);
  claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  const DeliveryOutcome uncertain{id, 1, DeliveryState::uncertain, kNow + 900'000, "?", false, std::nullopt};
  EXPECT_EQ(store_->deliveries.finish(std::span(&uncertain, 1), kNow), 1u);
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow + 899'999), IsEmpty());
  const DeliveryOutcome told{id,    1,     DeliveryState::accepted,         kNow,
                             "250", false, change(id, Status::delivered, 5)};
  EXPECT_EQ(store_->deliveries.finish(std::span(&told, 1), kNow), 1u);
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow + 900'000), IsEmpty())
      << "it would be sent twice";
  EXPECT_EQ(store_->deliveries.row(id)->repeats, 1);
}

TEST_P(DeliveryQueueConformance, RemembersAPauseSinceWhenItBegan) {
  EXPECT_FALSE(store_->deliveries.pause());
  store_->deliveries.set_pause({kNow, kNow + 5000, 1, "no route"});
  store_->deliveries.set_pause({kNow + 9, kNow + 9000, 2, "wrong password"});
  const auto pause = store_->deliveries.pause();
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->until, kNow + 9000);
  EXPECT_EQ(pause->failures, 2);
  store_->deliveries.clear_pause();
  EXPECT_FALSE(store_->deliveries.pause());
}

TEST_P(DeliveryQueueConformance, EndsWaitsBeyondATimeAndNoOthers) {
  const auto put_off = [&](UtcMillis now, UtcMillis due) {
    const TransactionId id = one_gift();
    const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
    begin("a", claims.at(0), "m", 60'000);
    const DeliveryOutcome later{id, 1, DeliveryState::queued, due, "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&later, 1), now);
    return id;
  };
  const UtcMillis latest = kNow + kHourMillis;
  const TransactionId waiting = put_off(kNow, latest);
  EXPECT_EQ(store_->deliveries.end_waits_beyond(latest, kNow), 0);
  const TransactionId early = put_off(kNow - 7, latest + 1);
  const TransactionId late = put_off(latest, latest + kHourMillis);
  EXPECT_EQ(store_->deliveries.end_waits_beyond(latest, kNow), 2);
  EXPECT_EQ(store_->deliveries.row(waiting)->due_at, latest);
  std::map<TransactionId, std::optional<UtcMillis>> first_tries;
  for (const DeliveryClaim& claim : store_->deliveries.claim("a", 60'000, 10, kNow))
    first_tries[claim.transaction] = claim.first_try_at;
  ASSERT_THAT(first_tries, SizeIs(2));
  EXPECT_EQ(first_tries.at(early), kNow - 7);
  EXPECT_EQ(first_tries.at(late), kNow) << "or it would be given up that much later";
}

TEST_P(DeliveryQueueConformance, EndsAPauseBeyondATimeAndNoOther) {
  EXPECT_FALSE(store_->deliveries.end_pause_beyond(kNow, kNow));
  store_->deliveries.set_pause({kNow + 9, kNow + 300'000, 7, "no route"});
  EXPECT_FALSE(store_->deliveries.end_pause_beyond(kNow + 300'000, kNow));
  EXPECT_TRUE(store_->deliveries.end_pause_beyond(kNow + 299'999, kNow));
  const auto pause = store_->deliveries.pause();
  ASSERT_TRUE(pause) << "one mail shows whether the transport is well again";
  EXPECT_EQ(pause->until, kNow);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->failures, 7);
}

TEST_P(DeliveryQueueConformance, ALeaseOfAWrongClockIsCutWhoeverHasIt) {
  one_gift();
  ASSERT_THAT(store_->deliveries.claim("dead", 21'600'000, 10, kNow), SizeIs(1));
  store_->deliveries.cut_leases(60'000);
  EXPECT_EQ(leases_beyond_a_minute("delivery"), "0");
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow), IsEmpty()) << "it may be at work still";
}

}  // namespace
}  // namespace giftsync::schema
