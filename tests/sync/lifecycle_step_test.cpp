// The timers against a real store and CRM: each outcome once, with its due time, whenever the step runs.
#include <atomic>
#include <thread>

#include "schema/sql/database.h"
#include "sync/gift/lifecycle.h"
#include "sync/status/status_rules.h"
#include "tests/support/lifecycle_fixture.h"
#include "tests/support/log_lines.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class LifecycleStep : public tests::LifecycleFixture {};
INSTANTIATE_TEST_SUITE_P(BackEnds, LifecycleStep,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(LifecycleStep, UnopenedGiftExpiresAndIsRefundedOnTheRefundDay) {
  const TransactionId mailed = send(1).front();
  const TransactionId linked = send(1, SendMode::urls).front();
  deliver();
  sync();
  now_ = now_ + 30 * kDayMillis - 1;
  EXPECT_EQ(run_timers().expired, 0u);
  now_ = now_ + 1;
  EXPECT_EQ(run_timers().expired, 1u);
  EXPECT_EQ(text(mailed, GiftField::status), "expired");
  EXPECT_EQ(status(linked), Status::sent);
  advance_to("2026-04-09T23:59:59.999Z");
  EXPECT_EQ(run_timers().refunded, 0u);
  advance_to("2026-04-10T00:00:00Z");
  EXPECT_EQ(run_timers().refunded, 1u);
  EXPECT_EQ(text(mailed, GiftField::status), "refunded");
  EXPECT_EQ(record(mailed).get(GiftField::expired_time), FieldValue(*from_rfc3339("2026-03-31T12:00:00Z")));
  advance_to("2026-05-30T12:00:00Z");
  EXPECT_EQ(run_timers().expired, 1u);
  EXPECT_EQ(time(linked, Status::expired), "2026-05-30T12:00:00.000Z");
}

// STATUS-13, LIFE-10
TEST_P(LifecycleStep, OutcomesDueDuringDowntimeHappenOnceWithTheirTime) {
  const auto gifts = send(3);
  deliver();
  report(gifts[1], Status::opened);
  sync();
  advance_days(800);
  const LifecycleStepStats report = run_timers();
  EXPECT_EQ(report.expired, 3u);
  EXPECT_EQ(report.refunded, 3u);
  EXPECT_EQ(time(gifts[0], Status::expired), "2026-03-31T12:00:00.000Z");
  EXPECT_EQ(time(gifts[0], Status::refunded), "2026-04-10T00:00:00.000Z");
  EXPECT_EQ(time(gifts[1], Status::expired), "2027-03-01T12:00:00.000Z");
  EXPECT_EQ(time(gifts[1], Status::refunded), "2027-04-10T00:00:00.000Z");
  EXPECT_THAT(store_->changes.history(gifts[0]), SizeIs(3));
  EXPECT_EQ(run_timers().expired, 0u);
  EXPECT_THAT(scheduled_gifts(), IsEmpty());
}

// LIFE-2
TEST_P(LifecycleStep, ChangedSettingsDoNotAffectSentGifts) {
  const TransactionId before = send(1).front();
  LifecycleTerms shorter;
  shorter.unopened_days = 1;
  shorter.refund_day = 0;
  store_->gifts.set_lifecycle_stamp(terms_stamper(shorter, 2));
  const TransactionId after = send(1).front();
  deliver();
  sync();
  advance_days(2);
  run_timers();
  EXPECT_EQ(status(before), Status::delivered);
  EXPECT_EQ(status(after), Status::refunded) << "at once";
  EXPECT_EQ(time(after, Status::refunded), time(after, Status::expired));
}

TEST_P(LifecycleStep, UndeliveredGiftIsRefundedAfterAWeek) {
  const TransactionId gift = send(1).front();
  deliver(DeliveryState::undelivered);
  sync();
  advance_days(7);
  EXPECT_EQ(run_timers().refunded, 1u);
  EXPECT_EQ(text(gift, GiftField::status), "refunded");
  EXPECT_EQ(time(gift, Status::expired), "never");
}

TEST_P(LifecycleStep, LateOpenedReportRevertsTheExpiry) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  advance_days(30);
  run_timers();
  ASSERT_EQ(status(gift), Status::expired);
  const store::StatusChange opened{{}, "test", gift, Status::opened, now_ - kDayMillis, now_, {}};
  store_->changes.accept(std::span(&opened, 1));
  sync();
  EXPECT_EQ(status(gift), Status::opened);
  advance_days(60);
  EXPECT_EQ(run_timers().refunded, 0u);
  advance_days(304);
  EXPECT_EQ(run_timers().expired, 1u) << "a year after it was opened";
}

// LIFE-1
TEST_P(LifecycleStep, ExternalGiftsHaveNoTimers) {
  store_->sources.open("vendor", "vendor", now_);
  store::InboundBatch page;
  page.source = page.gift_source = "vendor";
  page.now = now_;
  store::InboundItem& item = page.items.emplace_back();
  const TransactionId id{9'000'000'001};
  item.change = store::StatusChange{{}, "vendor", id, Status::undelivered, now_, now_, {}};
  item.gift.emplace();
  item.gift->id = id;
  item.gift->email = "ada@example.com";
  item.gift->sent_at = now_;
  store_->sources.accept(page);
  sync();
  ASSERT_EQ(status(id), Status::undelivered);
  EXPECT_THAT(scheduled_gifts(), IsEmpty());
  advance_days(800);
  const LifecycleStepStats done = run_timers();
  EXPECT_EQ(done.expired + done.refunded + done.reminded, 0u);
  EXPECT_EQ(status(id), Status::undelivered);
}

// LIFE-11
TEST_P(LifecycleStep, EachCreateFoldAndDecisionSchedulesTheNextOutcome) {
  const TransactionId id = send(1).front();
  const auto due = [&] {
    const auto found = gift(id).transaction.due_at;
    return found ? to_rfc3339(*found) : "never";
  };
  EXPECT_EQ(due(), "2026-03-31T12:00:00.000Z") << "created";
  report(id, Status::opened);
  sync();
  EXPECT_EQ(due(), "2027-03-01T12:00:00.000Z") << "folded";
  advance_to("2027-03-01T12:00:00Z");
  EXPECT_EQ(run_timers().expired, 1u);
  EXPECT_EQ(due(), "2027-04-10T00:00:00.000Z") << "decided: the refund is next";
  advance_to("2027-04-10T00:00:00Z");
  EXPECT_EQ(run_timers().refunded, 1u);
  EXPECT_EQ(due(), "never");
  const bool sqlite = GetParam() == sql::Dialect::sqlite;
  EXPECT_THAT(scalar(sqlite ? "SELECT sql FROM sqlite_master WHERE name = 'recipient_transaction_due'"
                            : "SELECT indexdef FROM pg_indexes WHERE schemaname = current_schema() AND "
                              "indexname = 'recipient_transaction_due'"),
              testing::HasSubstr("(due_at, id)"))
      << "many gifts are due at the same time";
}

// LIFE-12
TEST_P(LifecycleStep, VoidedExpiryIsNotRepeated) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  advance_days(30);
  run_timers();
  const auto history = store_->changes.history(gift);
  store_->changes.void_change(history.back().id, {now_, "root", "more time was requested"});
  sync();
  EXPECT_EQ(status(gift), Status::delivered);
  advance_days(40);
  EXPECT_EQ(run_timers().expired, 0u);
  EXPECT_THAT(store_->lifecycle.find_due(now_, 10), IsEmpty()) << "and it is not due again";
}

TEST_P(LifecycleStep, RestoredExpiryIsFollowedByItsRefund) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  advance_days(30);
  run_timers();
  const ChangeId expiry = store_->changes.history(gift).back().id;
  store_->changes.void_change(expiry, {now_, "root", "more time was requested"});
  sync();
  run_timers();
  ASSERT_EQ(status(gift), Status::delivered);
  advance_days(5);
  EXPECT_EQ(store_->changes.restore_change(expiry, {now_, "root", "they changed their mind"}).kind,
            store::RestoreOutcome::Kind::restored);
  EXPECT_THAT(store_->lifecycle.find_due(now_, 10), ElementsAre(gift)) << "it is due again";
  EXPECT_EQ(run_timers().refunded, 0u);
  EXPECT_EQ(text(gift, GiftField::status), "expired");
  advance_to("2026-04-10T00:00:00Z");
  EXPECT_EQ(run_timers().refunded, 1u);
  EXPECT_EQ(time(gift, Status::expired), "2026-03-31T12:00:00.000Z");
  EXPECT_EQ(time(gift, Status::refunded), "2026-04-10T00:00:00.000Z");
}

TEST_P(LifecycleStep, UndeliveredGiftWithVoidedExpiryIsStillRefunded) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  advance_days(30);
  run_timers();
  store_->changes.void_change(store_->changes.history(gift).back().id, {now_, "root", "sent again"});
  sync();
  const store::StatusChange bounced{{}, "relay", gift, Status::undelivered, now_ + 1, now_ + 1, {}};
  store_->changes.accept(std::span(&bounced, 1));
  sync();
  advance_days(6);
  EXPECT_EQ(run_timers().refunded, 0u);
  advance_days(2);
  EXPECT_EQ(run_timers().refunded, 1u);
  EXPECT_EQ(status(gift), Status::refunded);
  EXPECT_THAT(store_->lifecycle.find_due(now_, 10), IsEmpty());
}

TEST_P(LifecycleStep, ClaimWinsOverTimer) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  advance_days(30);
  // Accepted, but not folded when the timer runs.
  apply_conditional_outcome(store_->changes, {{}, "page", gift, Status::redeemed, now_, now_, {}});
  EXPECT_EQ(lifecycle_step(store_->lifecycle, now_).expired, 0u);
  EXPECT_THAT(store_->lifecycle.find_due(now_, 10), IsEmpty());
  run_timers();
  EXPECT_EQ(status(gift), Status::redeemed);
}

// LIFE-9
TEST_P(LifecycleStep, TwoDaemonsExpireEachGiftOnce) {
  const auto gifts = send(20);
  deliver();
  sync();
  advance_days(31);
  store::Store other(database_->address());
  std::atomic<std::size_t> expired = 0;
  {
    std::vector<std::jthread> daemons;
    for (store::Store* store : {store_.get(), &other})
      daemons.emplace_back([&, store] { expired += lifecycle_step(store->lifecycle, now_).expired; });
  }
  run_timers();
  EXPECT_EQ(expired, 20u);
  for (const TransactionId gift : gifts) EXPECT_THAT(store_->changes.history(gift), SizeIs(2));
}

// LIFE-9
TEST_P(LifecycleStep, ManyGiftsAreDecidedInOneTransaction) {
  const auto gifts = send(30);
  deliver();
  sync();
  advance_days(30);
  EXPECT_EQ(lifecycle_step(store_->lifecycle, now_).expired, 30u);
  for (const TransactionId gift : gifts) EXPECT_THAT(store_->changes.history(gift), SizeIs(2));
  if (GetParam() != sql::Dialect::postgresql) return;  // SQLite does not tell
  EXPECT_EQ(scalar("SELECT cast(count(DISTINCT xmin::text) AS TEXT) FROM change_log WHERE source = 'timer'"),
            "1");
}

// LIFE-9
TEST_P(LifecycleStep, LockedGiftHoldsUpNoOther) {
  if (GetParam() != sql::Dialect::postgresql) GTEST_SKIP() << "a transaction of SQLite is alone";
  const auto gifts = send(3);
  deliver();
  sync();
  advance_days(30);
  sql::Database other(address());
  other.write([&](soci::session& session) {
    session << "SELECT 1 FROM recipient_transaction WHERE id = " + std::to_string(gifts[1].value) +
                   " FOR UPDATE";
    EXPECT_EQ(lifecycle_step(store_->lifecycle, now_).expired, 2u);
  });
  EXPECT_EQ(lifecycle_step(store_->lifecycle, now_).expired, 1u);
}

TEST_P(LifecycleStep, GiftThatTheStoreRefusesHoldsUpNoOther) {
  const auto gifts = send(3);
  deliver();
  sync();
  advance_days(30);
  const std::string refused = std::to_string(gifts[0].value);
  const bool is_sqlite = GetParam() == sql::Dialect::sqlite;
  sql(is_sqlite ? "CREATE TRIGGER refuses BEFORE INSERT ON change_log WHEN NEW.transaction_id = " + refused +
                      " BEGIN SELECT RAISE(ABORT, 'refused'); END"
                : "ALTER TABLE change_log ADD CONSTRAINT refuses CHECK (transaction_id <> " + refused +
                      " OR source <> 'timer')");
  const LifecycleStepStats stats = lifecycle_step(store_->lifecycle, now_);
  EXPECT_EQ(stats.expired, 2u);
  EXPECT_THAT(tests::messages_of(stats.warnings), ElementsAre(testing::HasSubstr("gift " + refused)));
  EXPECT_EQ(tests::fields_text(stats.warnings.front()), "gift=" + refused);  // OPS-47
  EXPECT_THAT(lifecycle_step(store_->lifecycle, now_).warnings, IsEmpty()) << "not again at once";
  sql(is_sqlite ? "DROP TRIGGER refuses" : "ALTER TABLE change_log DROP CONSTRAINT refuses");
  now_ = now_ + kHourMillis;
  EXPECT_EQ(lifecycle_step(store_->lifecycle, now_).expired, 1u);
}

TEST_P(LifecycleStep, GiftWithTwoVoidedOutcomesIsNotDueAgain) {
  const TransactionId gift = send(1).front();
  deliver();
  sync();
  const auto void_last = [&] {
    for (const store::StatusChange& change : store_->changes.history(gift)) {
      if (change.source == "timer" && !change.voiding)
        store_->changes.void_change(change.id, {now_, "root", "more time was requested"});
    }
    sync();
  };
  advance_days(30);
  ASSERT_EQ(run_timers().expired, 1u);
  void_last();
  report(gift, Status::undelivered);
  sync();
  advance_days(8);
  ASSERT_EQ(run_timers().refunded, 1u);
  void_last();
  const LifecycleStepStats stats = run_timers();
  EXPECT_EQ(stats.expired + stats.refunded, 0u);
  EXPECT_THAT(store_->lifecycle.find_due(now_, 10), IsEmpty());
}

// LIFE-13
TEST_P(LifecycleStep, QueuedMailIsWithdrawnAtTheEnd) {
  const TransactionId gift = send(1).front();
  sync();
  advance_days(30);
  run_timers();
  EXPECT_EQ(store_->deliveries.find(gift)->state, DeliveryState::withdrawn);
  EXPECT_THAT(deliver(), IsEmpty());
}

TEST_P(LifecycleStep, RemindersAreSentOnceAndNotAfterOpening) {
  terms_.reminder_days = {7, 21};
  store_->gifts.set_lifecycle_stamp(terms_stamper(terms_, 90));
  const auto gifts = send(3);
  const TransactionId linked = send(1, SendMode::urls).front();
  deliver();
  report(gifts[1], Status::opened);
  sync();
  report(gifts[2], Status::opened);  // not folded when the timer runs
  advance_days(7);
  EXPECT_EQ(lifecycle_step(store_->lifecycle, now_).reminded, 1u);
  EXPECT_EQ(run_timers().reminded, 0u);
  const auto claims = deliver();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction, gifts[0]);
  EXPECT_EQ(claims[0].kind, MailKind::reminder);
  EXPECT_EQ(claims[0].number, 2);
  advance_days(14);
  EXPECT_EQ(run_timers().reminded, 1u);
  EXPECT_EQ(time(gifts[0], Status::delivered), "2026-03-01T12:00:00.000Z") << "a reminder is no delivery";
  EXPECT_THAT(store_->lifecycle.find_actions(gifts[0]), SizeIs(2));
  EXPECT_THAT(store_->lifecycle.find_actions(gifts[1]), IsEmpty());
  advance_days(9);
  EXPECT_EQ(run_timers().expired, 1u);
  EXPECT_EQ(store_->deliveries.find(gifts[0])->state, DeliveryState::withdrawn)
      << "the second one was not sent: the relay was unavailable";
  EXPECT_EQ(store_->deliveries.find(linked), std::nullopt);
}

TEST_P(LifecycleStep, ReminderDayPassesWithoutADeliveredMail) {
  terms_.reminder_days = {7};
  store_->gifts.set_lifecycle_stamp(terms_stamper(terms_, 90));
  const TransactionId gift = send(1).front();
  sync();
  advance_days(8);
  EXPECT_EQ(run_timers().reminded, 0u);
  deliver();
  EXPECT_EQ(run_timers().reminded, 0u) << "that day has passed";
  EXPECT_EQ(store_->deliveries.find(gift)->number, 1);
}

}  // namespace
}  // namespace giftsync::sync
