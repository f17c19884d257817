// A timer's decision as a pure function of the gift, its changes and the time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sync/gift/lifecycle.h"
#include "sync/status/status_rules.h"

namespace giftsync::sync {
namespace {
using store::DueGift;
using store::StatusChange;
using store::TimerDecision;

constexpr UtcMillis kSent{1'772'366'400'000};  // 2026-03-01T12:00:00Z

UtcMillis day(std::int64_t days) {
  return kSent + days * kDayMillis;
}

DueGift gift(const LifecycleTerms& terms = {}) {
  DueGift due;
  due.gift.request.mode = SendMode::email;
  due.gift.request.terms = format_terms(terms);
  due.gift.transaction.id = {7};
  due.gift.transaction.times[Status::sent] = kSent;
  due.mail = DeliveryState::accepted;
  return due;
}

void add(DueGift& due, Status status, UtcMillis at, Premise premise = Premise::none) {
  due.changes.push_back({due.gift.transaction.id, status, premise, at, at});
}

StatusChange outcome(Status status, Premise premise, UtcMillis at) {
  return {{}, "timer", {7}, status, at, at, {}, premise};
}

TEST(TimerDecision, DatesAnOutcomeWithItsDueTime) {
  const TimerDecision decision = decide_timer(gift(), {}, day(400));
  ASSERT_TRUE(decision.outcome);
  EXPECT_EQ(decision.outcome->status, Status::expired);
  EXPECT_EQ(decision.outcome->premise, Premise::unopened);
  EXPECT_EQ(decision.outcome->occurred_at, day(30));
  EXPECT_EQ(decision.outcome->received_at, day(400));
  EXPECT_EQ(decision.due_at, *from_rfc3339("2026-04-10T00:00:00Z")) << "the refund";
}

TEST(TimerDecision, LooksAgainWhenNothingIsDueYet) {
  const TimerDecision decision = decide_timer(gift(), {}, day(29));
  EXPECT_FALSE(decision.outcome);
  EXPECT_FALSE(decision.reminder);
  EXPECT_EQ(decision.due_at, day(30));
}

TEST(TimerDecision, EndedExternalAndTermlessGiftsHaveNoTimer) {
  DueGift claimed = gift();
  add(claimed, Status::redeemed, day(29));
  DueGift external = gift();
  external.gift.transaction.gift_source = "vendor";
  DueGift termless = gift();
  termless.gift.request.terms.clear();
  for (const DueGift& one : {claimed, external, termless}) {
    const TimerDecision decision = decide_timer(one, {}, day(400));
    EXPECT_FALSE(decision.outcome);
    EXPECT_EQ(decision.due_at, std::nullopt);
  }
}

// LIFE-12
TEST(TimerDecision, VoidedExpiryLeavesOnlyTheRefundOfAnUndeliveredGift) {
  DueGift undelivered = gift();
  add(undelivered, Status::undelivered, day(28));
  const StatusChange expiry = outcome(Status::expired, Premise::unopened, day(30));
  const StatusChange refund = outcome(Status::refunded, Premise::undelivered, day(35));

  EXPECT_EQ(decide_timer(gift(), std::span(&expiry, 1), day(30)).due_at, std::nullopt);
  const TimerDecision waits = decide_timer(undelivered, std::span(&expiry, 1), day(34));
  EXPECT_FALSE(waits.outcome);
  EXPECT_EQ(waits.due_at, day(35));
  const TimerDecision refunds = decide_timer(undelivered, std::span(&expiry, 1), day(35));
  ASSERT_TRUE(refunds.outcome);
  EXPECT_EQ(refunds.outcome->status, Status::refunded);
  const std::vector<StatusChange> both{expiry, refund};
  const TimerDecision nothing = decide_timer(undelivered, both, day(40));
  EXPECT_FALSE(nothing.outcome);
  EXPECT_EQ(nothing.due_at, std::nullopt) << "it is not due again at once";
}

// LIFE-22
TEST(TimerDecision, ResentGiftIsNotRefunded) {
  DueGift due = gift();
  add(due, Status::undelivered, day(2));
  ASSERT_TRUE(decide_timer(due, {}, day(9)).outcome);
  due.gift.transaction.resent_at = day(3);
  const TimerDecision decision = decide_timer(due, {}, day(9));
  EXPECT_FALSE(decision.outcome);
  EXPECT_EQ(decision.due_at, day(30));
}

// LIFE-14
TEST(TimerDecision, RemindsOnlyAfterTheMailWasAccepted) {
  LifecycleTerms terms;
  terms.reminder_days = {7, 21};
  DueGift due = gift(terms);
  const TimerDecision reminds = decide_timer(due, {}, day(8));
  ASSERT_TRUE(reminds.reminder);
  EXPECT_EQ(reminds.reminder->comment, "of day 7");
  EXPECT_EQ(reminds.last_reminder_day, 7);
  EXPECT_EQ(reminds.due_at, day(21));

  due.mail = DeliveryState::queued;
  const TimerDecision skips = decide_timer(due, {}, day(22));
  EXPECT_FALSE(skips.reminder);
  EXPECT_EQ(skips.last_reminder_day, 21) << "of several days the last one";
  EXPECT_EQ(skips.due_at, day(30));
}

}  // namespace
}  // namespace giftsync::sync
