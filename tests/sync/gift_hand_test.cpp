// Sending again and cancelling, against a real store: nothing is sent twice, nothing is lost, and what is
// refused says why.
#include "sync/gift_hand.h"

#include <thread>

#include "sync/recipient_choice.h"
#include "tests/sync/life_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = HandResult::Kind;

class GiftHand : public LifeGround {
 protected:
  HandResult again(TransactionId id, std::optional<std::string> email = {}) {
    return resend(*store_, {id, std::move(email), "root"}, now_);
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, GiftHand, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(GiftHand, TheSameAddressGetsTheSameLinksInAnotherMail) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::undelivered);
  sync();
  wait_days(6);
  const HandResult done = again(id);
  EXPECT_EQ(done.kind, Kind::done);
  EXPECT_FALSE(done.is_moved);
  EXPECT_EQ(gift(id).transaction.generation, 0);
  wait_days(2);
  EXPECT_EQ(look().refunded, 0u) << "it was sent again";
  const auto claims = deliver();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].number, 2);
  EXPECT_EQ(claims[0].message_id, "") << "a Message-ID of its own";
  sync();
  EXPECT_EQ(text(id, GiftField::status), "delivered");
  EXPECT_THAT(store_->life.due(now_, 10), IsEmpty());
  EXPECT_EQ(store_->life.acts_of(id).front().remark, "to p0@example.com");
}

TEST_P(GiftHand, TheOldLinkTakesNothingFromTheMomentTheGiftGoesToSomebodyElse) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const RecipientTransaction followed =
      gift(id).transaction;  // a page was looked at, and its form is on its way
  ASSERT_EQ(again(id, "bea@example.org").kind, Kind::done);
  const auto accept = [&](const RecipientTransaction& link) {
    return choose(store_->changes, id, Status::redeemed, now_, LifeBook::while_link_is_good(link)).outcome;
  };
  EXPECT_EQ(accept(followed), DecidedOutcome::nothing_to_hand_out);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1)) << "it was delivered, and nobody opened or took it";
  EXPECT_EQ(accept(gift(id).transaction), DecidedOutcome::accepted);
}

TEST_P(GiftHand, ALateOutcomeOfTheMailBeforeIsNotTakenForThisOne) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::uncertain);
  const DeliveryRow before = *store_->deliveries.row(id);
  ASSERT_EQ(again(id, "bea@example.org").kind, Kind::done);
  const DeliveryOutcome late{id, before.attempt, DeliveryState::accepted, now_, "250 ok", false, {}};
  EXPECT_EQ(store_->deliveries.finish(std::span(&late, 1), now_), 0u);
  EXPECT_EQ(store_->deliveries.row(id)->state, DeliveryState::queued) << "the new mail is still to go";
}

TEST_P(GiftHand, AnotherFailureStartsTheWeekAnew) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::undelivered);
  wait_days(6);
  sync();
  ASSERT_EQ(again(id).kind, Kind::done);
  now_ = now_ + 1;
  deliver(DeliveryState::undelivered);
  sync();
  wait_days(6);
  EXPECT_EQ(look().refunded, 0u);
  wait_days(1);
  EXPECT_EQ(look().refunded, 1u);
}

TEST_P(GiftHand, AnotherAddressGetsNewLinksAndTheRecordFollows) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const HandResult done = again(id, "Bea@Example.org");
  EXPECT_EQ(done.kind, Kind::done);
  EXPECT_TRUE(done.is_moved);
  EXPECT_EQ(done.moved_from, "p0@example.com");
  EXPECT_EQ(gift(id).transaction.generation, 1);
  EXPECT_EQ(gift(id).transaction.email, "Bea@Example.org");
  sync();
  EXPECT_EQ(text(id, GiftField::recipient_email), "Bea@Example.org");
  EXPECT_THAT(deliver(), SizeIs(1));
}

TEST_P(GiftHand, WhatAlreadyHappenedIsSaid) {
  const TransactionId linked = send(1, SendMode::urls).front();
  EXPECT_THAT(again(linked).why, HasSubstr("handed out"));
  EXPECT_EQ(again({987654}).kind, Kind::unknown);
  for (const Status end :
       {Status::opened, Status::redeemed, Status::donated, Status::expired, Status::refunded}) {
    const TransactionId id = send(1).front();
    deliver();
    report(id, end);
    const HandResult refused = again(id);
    EXPECT_EQ(refused.kind, Kind::refused);
    EXPECT_EQ(refused.why, "it was " + std::string(to_word(end)) + " on " + to_rfc3339(now_));
    EXPECT_THAT(deliver(), IsEmpty());
    if (end == Status::opened) continue;
    const HandResult cancelled = cancel(*store_, id, "root", now_);
    EXPECT_EQ(cancelled.kind, Kind::refused);
    EXPECT_EQ(cancelled.why, refused.why);
    EXPECT_EQ(gift(id).transaction.generation, 0);
  }
}

TEST_P(GiftHand, AMailOnItsWayIsNotSentTwice) {
  const TransactionId id = send(1).front();
  EXPECT_THAT(again(id).why, HasSubstr("has not left yet"));
  const auto claims = store_->deliveries.claim("mailer", 60'000, 10, now_);
  const DeliveryQueue::Sending sending{claims.front(), "mail"};
  // Another address before it leaves: whoever holds the claim may not send any more.
  ASSERT_EQ(again(id, "bea@example.org").kind, Kind::done);
  EXPECT_FALSE(store_->deliveries.begin_sending("mailer", std::span(&sending, 1), 60'000, now_)[0]);
  const auto fresh = store_->deliveries.claim("mailer", 60'000, 10, now_);
  ASSERT_THAT(fresh, SizeIs(1));
  const DeliveryQueue::Sending leaving{fresh.front(), "mail"};
  ASSERT_TRUE(store_->deliveries.begin_sending("mailer", std::span(&leaving, 1), 60'000, now_)[0]);
  EXPECT_EQ(again(id, "cleo@example.org").kind, Kind::try_later);
  EXPECT_EQ(again(id).kind, Kind::try_later);
  DeliveryOutcome outcome = outcome_of(fresh.front(), DeliveryState::accepted);
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), now_), 1u);
}

TEST_P(GiftHand, ACancelledGiftIsRefundedItsLinksAndItsMailAreDead) {
  const TransactionId id = send(1).front();
  const HandResult done = cancel(*store_, id, "root", now_);
  EXPECT_EQ(done.kind, Kind::done);
  EXPECT_EQ(done.state.status, Status::refunded);
  EXPECT_EQ(gift(id).transaction.generation, 1);
  EXPECT_EQ(store_->deliveries.row(id)->state, DeliveryState::withdrawn);
  EXPECT_THAT(deliver(), IsEmpty());
  sync();
  EXPECT_EQ(text(id, GiftField::status), "refunded");
  EXPECT_EQ(cancel(*store_, id, "root", now_ + 5).why, "it was refunded on " + to_rfc3339(now_));
  EXPECT_EQ(again(id).kind, Kind::refused);
  wait_days(500);
  EXPECT_EQ(look().expired, 0u);
  EXPECT_EQ(cancel(*store_, {987654}, "root", now_).kind, Kind::unknown);
}

TEST_P(GiftHand, AMailThatIsLeavingWhenItsGiftIsCancelledIsNotTriedAgain) {
  const TransactionId id = send(1).front();
  const auto claims = store_->deliveries.claim("mailer", 60'000, 10, now_);
  const DeliveryQueue::Sending sending{claims.front(), "mail"};
  ASSERT_TRUE(store_->deliveries.begin_sending("mailer", std::span(&sending, 1), 60'000, now_)[0]);
  ASSERT_EQ(cancel(*store_, id, "root", now_).kind, Kind::done);
  DeliveryOutcome later = outcome_of(claims.front(), DeliveryState::queued);
  later.change.reset();
  EXPECT_EQ(store_->deliveries.finish(std::span(&later, 1), now_), 1u);
  EXPECT_EQ(store_->deliveries.row(id)->state, DeliveryState::withdrawn);
}

TEST_P(GiftHand, ResendAndRefundAtOnceEndInExactlyOne) {
  for (int round = 0; round < 10; ++round) {
    const TransactionId id = send(1).front();
    deliver(DeliveryState::undelivered);
    sync();
    wait_days(7);
    Store other(database_->address());
    HandResult resent;
    {
      std::jthread timer([&] { lifecycle_step(other, now_); });
      std::jthread admin([&] { resent = again(id); });
    }
    look();
    const bool is_refunded = status(id) == Status::refunded;
    EXPECT_EQ(resent.kind == Kind::done, !is_refunded) << resent.why;
    EXPECT_EQ(deliver().size(), is_refunded ? 0u : 1u);
    look();
    EXPECT_EQ(status(id), is_refunded ? Status::refunded : Status::delivered);
  }
}

}  // namespace
}  // namespace giftsync::sync
