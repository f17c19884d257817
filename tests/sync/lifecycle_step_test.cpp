// The timers against a real store and CRM: each outcome once, at its time, whenever the round comes.
#include "sync/lifecycle_step.h"

#include <atomic>
#include <thread>

#include "sync/decided_outcome.h"
#include "tests/sync/life_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LifecycleStep : public LifeGround {};
INSTANTIATE_TEST_SUITE_P(BackEnds, LifecycleStep, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(LifecycleStep, AnUnopenedGiftExpiresAndIsRefundedOnTheDay) {
  const TransactionId mailed = send(1).front();
  const TransactionId linked = send(1, SendMode::urls).front();
  deliver();
  sync();
  now_ = now_ + 30 * kDayMillis - 1;
  EXPECT_EQ(look().expired, 0u);
  now_ = now_ + 1;
  EXPECT_EQ(look().expired, 1u);
  EXPECT_EQ(text(mailed, GiftField::status), "expired");
  EXPECT_EQ(status(linked), Status::sent);
  wait_until("2026-04-09T23:59:59.999Z");
  EXPECT_EQ(look().refunded, 0u);
  wait_until("2026-04-10T00:00:00Z");
  EXPECT_EQ(look().refunded, 1u);
  EXPECT_EQ(text(mailed, GiftField::status), "refunded");
  EXPECT_EQ(record(mailed).get(GiftField::expired_time), FieldValue(*from_rfc3339("2026-03-31T12:00:00Z")));
  wait_until("2026-05-30T12:00:00Z");
  EXPECT_EQ(look().expired, 1u);
  EXPECT_EQ(time(linked, Status::expired), "2026-05-30T12:00:00.000Z");
}

TEST_P(LifecycleStep, WhatFellDueDuringALongStopHappensOnceWithItsTime) {
  const auto gifts = send(3);
  deliver();
  report(gifts[1], Status::opened);
  sync();
  wait_days(800);
  const LifecycleReport report = look();
  EXPECT_EQ(report.expired, 3u);
  EXPECT_EQ(report.refunded, 3u);
  EXPECT_EQ(time(gifts[0], Status::expired), "2026-03-31T12:00:00.000Z");
  EXPECT_EQ(time(gifts[0], Status::refunded), "2026-04-10T00:00:00.000Z");
  EXPECT_EQ(time(gifts[1], Status::expired), "2027-03-01T12:00:00.000Z");
  EXPECT_EQ(time(gifts[1], Status::refunded), "2027-04-10T00:00:00.000Z");
  EXPECT_THAT(store_->changes.history(gifts[0]), SizeIs(3));
  EXPECT_EQ(look().expired, 0u);
  EXPECT_THAT(ever_due(), IsEmpty());
}

TEST_P(LifecycleStep, AChangedSettingReachesNoGiftThatIsOnItsWay) {
  const TransactionId before = send(1).front();
  LifecycleTerms shorter;
  shorter.unopened_days = 1;
  shorter.refund_day = 0;
  store_->gifts.stamp_with(stamp_of(shorter, 2));
  const TransactionId after = send(1).front();
  deliver();
  sync();
  wait_days(2);
  look();
  EXPECT_EQ(status(before), Status::delivered);
  EXPECT_EQ(status(after), Status::refunded) << "at once";
  EXPECT_EQ(time(after, Status::refunded), time(after, Status::expired));
}

TEST_P(LifecycleStep, AnUndeliveredGiftIsRefundedAfterAWeek) {
  const TransactionId gift = send(1).front();
  deliver(DeliveryState::undelivered);
  sync();
  wait_days(7);
  EXPECT_EQ(look().refunded, 1u);
  EXPECT_EQ(text(gift, GiftField::status), "refunded");
  EXPECT_EQ(time(gift, Status::expired), "never");
}

TEST_P(LifecycleStep, ALateReportOfOpeningTakesTheExpiryBack) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  wait_days(30);
  look();
  ASSERT_EQ(status(gift), Status::expired);
  const StatusChange opened{{}, "test", gift, Status::opened, now_ - kDayMillis, now_, {}};
  store_->changes.accept(std::span(&opened, 1));
  sync();
  EXPECT_EQ(status(gift), Status::opened);
  wait_days(60);
  EXPECT_EQ(look().refunded, 0u);
  wait_days(304);
  EXPECT_EQ(look().expired, 1u) << "a year after it was opened";
}

TEST_P(LifecycleStep, AnExpiryThatAnAdminVoidedIsNotDecidedAgain) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  wait_days(30);
  look();
  const auto history = store_->changes.history(gift);
  store_->changes.void_change(history.back().id, {now_, "root", "they asked for more time"});
  sync();
  EXPECT_EQ(status(gift), Status::delivered);
  wait_days(40);
  EXPECT_EQ(look().expired, 0u);
  EXPECT_THAT(store_->life.due(now_, 10), IsEmpty()) << "and it is not looked at over and over";
}

TEST_P(LifecycleStep, AnExpiryThatAnAdminRestoredIsFollowedByItsRefund) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  wait_days(30);
  look();
  const ChangeId expiry = store_->changes.history(gift).back().id;
  store_->changes.void_change(expiry, {now_, "root", "they asked for more time"});
  sync();
  look();
  ASSERT_EQ(status(gift), Status::delivered);
  wait_days(5);
  EXPECT_EQ(store_->changes.restore_change(expiry, {now_, "root", "they changed their mind"}).kind,
            RestoreOutcome::Kind::restored);
  EXPECT_THAT(store_->life.due(now_, 10), ElementsAre(gift)) << "a timer looks at it anew";
  EXPECT_EQ(look().refunded, 0u);
  EXPECT_EQ(text(gift, GiftField::status), "expired");
  wait_until("2026-04-10T00:00:00Z");
  EXPECT_EQ(look().refunded, 1u);
  EXPECT_EQ(time(gift, Status::expired), "2026-03-31T12:00:00.000Z");
  EXPECT_EQ(time(gift, Status::refunded), "2026-04-10T00:00:00.000Z");
}

TEST_P(LifecycleStep, AnUndeliveredGiftWhoseExpiryWasVoidedIsStillRefunded) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  wait_days(30);
  look();
  store_->changes.void_change(store_->changes.history(gift).back().id, {now_, "root", "sent again"});
  sync();
  const StatusChange bounced{{}, "relay", gift, Status::undelivered, now_ + 1, now_ + 1, {}};
  store_->changes.accept(std::span(&bounced, 1));
  sync();
  wait_days(6);
  EXPECT_EQ(look().refunded, 0u);
  wait_days(2);
  EXPECT_EQ(look().refunded, 1u);
  EXPECT_EQ(status(gift), Status::refunded);
  EXPECT_THAT(store_->life.due(now_, 10), IsEmpty());
}

TEST_P(LifecycleStep, AClaimOutrunsTheTimer) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  wait_days(30);
  // Accepted, and not folded yet when the timer comes.
  decide_outcome(store_->changes, {{}, "page", gift, Status::redeemed, now_, now_, {}});
  EXPECT_EQ(lifecycle_step(*store_, now_).expired, 0u);
  EXPECT_THAT(store_->life.due(now_, 10), IsEmpty());
  look();
  EXPECT_EQ(status(gift), Status::redeemed);
}

TEST_P(LifecycleStep, TwoDaemonsDoNoHarm) {
  const auto gifts = send(20);
  deliver();
  sync();
  wait_days(31);
  Store other(database_->address());
  std::atomic<std::size_t> expired = 0;
  {
    std::vector<std::jthread> daemons;
    for (Store* store : {store_.get(), &other})
      daemons.emplace_back([&, store] { expired += lifecycle_step(*store, now_).expired; });
  }
  look();
  EXPECT_EQ(expired, 20u);
  for (const TransactionId gift : gifts) EXPECT_THAT(store_->changes.history(gift), SizeIs(2));
}

TEST_P(LifecycleStep, AMailThatNeverLeftIsNotSentAfterTheEnd) {
  const TransactionId gift = send(1).front();
  sync();
  wait_days(30);
  look();
  EXPECT_EQ(store_->deliveries.row(gift)->state, DeliveryState::withdrawn);
  EXPECT_THAT(deliver(), IsEmpty());
}

TEST_P(LifecycleStep, RemindersGoOutOnceAndNeverAfterOpening) {
  terms_.reminder_days = {7, 21};
  store_->gifts.stamp_with(stamp_of(terms_, 90));
  const auto gifts = send(3);
  const TransactionId linked = send(1, SendMode::urls).front();
  deliver();
  report(gifts[1], Status::opened);
  sync();
  report(gifts[2], Status::opened);  // not folded when the timer comes
  wait_days(7);
  EXPECT_EQ(lifecycle_step(*store_, now_).reminded, 1u);
  EXPECT_EQ(look().reminded, 0u);
  const auto claims = deliver();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction, gifts[0]);
  EXPECT_EQ(claims[0].kind, MailKind::reminder);
  EXPECT_EQ(claims[0].number, 2);
  wait_days(14);
  EXPECT_EQ(look().reminded, 1u);
  EXPECT_EQ(time(gifts[0], Status::delivered), "2026-03-01T12:00:00.000Z") << "a reminder delivers nothing";
  EXPECT_THAT(store_->life.acts_of(gifts[0]), SizeIs(2));
  EXPECT_THAT(store_->life.acts_of(gifts[1]), IsEmpty());
  wait_days(9);
  EXPECT_EQ(look().expired, 1u);
  EXPECT_EQ(store_->deliveries.row(gifts[0])->state, DeliveryState::withdrawn)
      << "the second one never left: the relay was away";
  EXPECT_EQ(store_->deliveries.row(linked), std::nullopt);
}

TEST_P(LifecycleStep, AReminderWaitsForNoMailThatNeverArrived) {
  terms_.reminder_days = {7};
  store_->gifts.stamp_with(stamp_of(terms_, 90));
  const TransactionId gift = send(1).front();
  sync();
  wait_days(8);
  EXPECT_EQ(look().reminded, 0u);
  deliver();
  EXPECT_EQ(look().reminded, 0u) << "that day has passed";
  EXPECT_EQ(store_->deliveries.row(gift)->number, 1);
}

}  // namespace
}  // namespace giftsync::sync
