// Resend and cancel against a real store: nothing is sent twice or lost, and a refusal says why.
#include "sync/gift/gift_actions.h"

#include <array>
#include <thread>

#include "tests/support/lifecycle_fixture.h"

namespace giftsync::sync {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;
using Kind = ActionResult::Kind;

class GiftActions : public tests::LifecycleFixture {
 protected:
  ActionResult resend_to(TransactionId id, std::optional<std::string> email = {}) {
    return resend(*store_, {id, std::move(email), "root"}, now_);
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, GiftActions,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(GiftActions, ResendToSameAddressKeepsTheLinks) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::undelivered);
  sync();
  advance_days(6);
  const ActionResult done = resend_to(id);
  EXPECT_EQ(done.kind, Kind::done);
  EXPECT_FALSE(done.is_readdressed);
  EXPECT_EQ(gift(id).transaction.generation, 0);
  advance_days(2);
  EXPECT_EQ(run_timers().refunded, 0u) << "it was resent";
  const auto claims = deliver();
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].number, 2);
  EXPECT_EQ(claims[0].message_id, "") << "a new Message-ID";
  sync();
  EXPECT_EQ(text(id, GiftField::status), "delivered");
  EXPECT_THAT(store_->lifecycle.find_due(now_, 10), IsEmpty());
  const auto actions = store_->lifecycle.find_actions(id);
  ASSERT_GE(actions.size(), 2u);
  EXPECT_EQ(actions[0].kind, store::GiftActionKind::mail_undelivered) << "the former mail";
  EXPECT_EQ(actions[1].comment, "to p0@example.com");
  EXPECT_FALSE(actions[1].is_readdressed);
}

// LIFE-23, API-6
TEST_P(GiftActions, AnExtensionMovesExpiryAndTimer) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const UtcMillis own = *claimable_until(gift(id));
  const UtcMillis until = own + 60 * kDayMillis;
  const auto extend_to = [&](UtcMillis time) { return extend(*store_, {id, time, "root"}, now_); };
  EXPECT_EQ(extend_to(own).kind, Kind::already);
  EXPECT_EQ(extend_to(own - 1).kind, Kind::refused);
  EXPECT_EQ(extend_to(own + kMostExtensionMillis + 1).kind, Kind::refused);
  EXPECT_EQ(gift(id).transaction.extended_until, std::nullopt) << "nothing was changed";
  ASSERT_EQ(extend_to(until).kind, Kind::done);
  EXPECT_EQ(gift(id).transaction.extended_until, until);
  EXPECT_EQ(claimable_until(gift(id)), until);
  EXPECT_EQ(extend_to(until).kind, Kind::already);
  EXPECT_EQ(store_->lifecycle.find_actions(id).back().kind, store::GiftActionKind::extended);
  EXPECT_EQ(store_->lifecycle.find_actions(id).back().comment, "until " + to_rfc3339(until));
  sync();
  now_ = own;
  EXPECT_EQ(run_timers().expired, 0u);
  EXPECT_EQ(record_opened(store_->changes, id, now_), store::ConditionalOutcome::accepted)
      << "it can be opened after its own expiry";
}

// LIFE-23
TEST_P(GiftActions, AnExtendedGiftExpiresThenAndAnEndedOneIsNotExtended) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const UtcMillis until = *claimable_until(gift(id)) + kDayMillis;
  ASSERT_EQ(extend(*store_, {id, until, "root"}, now_).kind, Kind::done);
  now_ = until;
  EXPECT_EQ(run_timers().expired, 1u);
  const ActionResult late = extend(*store_, {id, until + kDayMillis, "root"}, now_);
  EXPECT_EQ(late.kind, Kind::refused);
  EXPECT_THAT(late.reason, HasSubstr("it was expired on"));
  EXPECT_EQ(extend(*store_, {{99'999}, until, "root"}, now_).kind, Kind::unknown);
}

// LIFE-23
TEST_P(GiftActions, ATimeThatHasPassedExtendsNothing) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const UtcMillis own = *claimable_until(gift(id));
  now_ = own + 10 * kDayMillis;  // the timer has not run
  const ActionResult past = extend(*store_, {id, own + kDayMillis, "root"}, now_);
  EXPECT_EQ(past.kind, Kind::refused);
  EXPECT_THAT(past.reason, HasSubstr("has passed"));
  EXPECT_EQ(gift(id).transaction.extended_until, std::nullopt);
  EXPECT_EQ(extend(*store_, {id, now_ + kDayMillis, "root"}, now_).kind, Kind::done);
  EXPECT_EQ(run_timers().expired, 0u);
}

// LIFE-23, API-6
TEST_P(GiftActions, AnExtendMayBeRepeatedAfterAnOpeningThatGivesMoreTime) {
  const TransactionId id = send(1).front();
  deliver();
  const UtcMillis until = *claimable_until(gift(id)) + kDayMillis;
  ASSERT_EQ(extend(*store_, {id, until, "root"}, now_).kind, Kind::done);
  now_ = until - kDayMillis;
  ASSERT_EQ(record_opened(store_->changes, id, now_), store::ConditionalOutcome::accepted);
  sync();
  ASSERT_GT(*claimable_until(gift(id)), until);
  EXPECT_EQ(extend(*store_, {id, until, "root"}, now_).kind, Kind::already);
  EXPECT_EQ(extend(*store_, {id, until + 1, "root"}, now_).kind, Kind::refused) << "it is not shortened";
}

// API-6, API-8
TEST_P(GiftActions, OfTwoResendsAtOnceWithTheSameETagOneMails) {
  for (int round = 0; round < 10; ++round) {
    const TransactionId id = send(1).front();
    deliver();
    ResendAction action{id, {}, "root"};
    action.seen = GiftVersion{gift(id).transaction.version, 1};
    std::array<Kind, 2> kinds{};
    std::array<std::thread, 2> callers;
    for (std::size_t i = 0; i < callers.size(); ++i)
      callers[i] = std::thread([&, i] { kinds[i] = resend(*store_, action, now_).kind; });
    for (std::thread& caller : callers) caller.join();
    EXPECT_THAT(kinds, UnorderedElementsAre(Kind::done, Kind::outdated));
    EXPECT_EQ(store_->deliveries.find(id)->number, 2);
    deliver();
  }
}

// API-8
TEST_P(GiftActions, AResendOfAGiftThatHasChangedSinceIsRefused) {
  const TransactionId id = send(1).front();
  deliver();
  ResendAction action{id, {}, "root"};
  action.seen = GiftVersion{gift(id).transaction.version, 1};
  EXPECT_EQ(resend(*store_, action, now_).kind, Kind::done);
  deliver();
  EXPECT_EQ(resend(*store_, action, now_).kind, Kind::outdated);
  EXPECT_EQ(store_->deliveries.find(id)->number, 2);
}

// CON-55
TEST_P(GiftActions, AResendSaysWhetherItChangedTheAddress) {
  const TransactionId id = send(1).front();
  deliver();
  ASSERT_EQ(resend_to(id, "bea@example.org").kind, Kind::done);
  deliver();
  ASSERT_EQ(resend_to(id, "BEA@example.org").kind, Kind::done);
  deliver();
  const auto actions = store_->lifecycle.find_actions(id);
  ASSERT_THAT(actions, SizeIs(4)) << "each after its former mail";
  EXPECT_TRUE(actions[1].is_readdressed);
  EXPECT_FALSE(actions[3].is_readdressed) << "the same address in capitals";
}

TEST_P(GiftActions, OldLinkIsInvalidAfterResendToAnotherAddress) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const store::RecipientTransaction opened_link =
      gift(id).transaction;  // a page was opened before, and its form is submitted later
  ASSERT_EQ(resend_to(id, "bea@example.org").kind, Kind::done);
  const auto accept = [&](const store::RecipientTransaction& link) {
    return redeem_or_donate(store_->changes, id, Status::redeemed, now_,
                            store::LifecycleStore::require_current_link_effect(link))
        .outcome;
  };
  EXPECT_EQ(accept(opened_link), store::ConditionalOutcome::effect_unavailable);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1)) << "it was delivered, not opened or claimed";
  EXPECT_EQ(accept(gift(id).transaction), store::ConditionalOutcome::accepted);
}

TEST_P(GiftActions, LateOutcomeOfEarlierMailIsIgnored) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::uncertain);
  const store::DeliveryRow before = *store_->deliveries.find(id);
  ASSERT_EQ(resend_to(id, "bea@example.org").kind, Kind::done);
  const store::DeliveryOutcome late{id, before.attempt, DeliveryState::accepted, now_, "250 ok", false, {}};
  EXPECT_EQ(store_->deliveries.finish(std::span(&late, 1), now_), 0u);
  EXPECT_EQ(store_->deliveries.find(id)->state, DeliveryState::queued) << "the new mail is still queued";
}

TEST_P(GiftActions, AnotherBounceRestartsTheRefundPeriod) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::undelivered);
  advance_days(6);
  sync();
  ASSERT_EQ(resend_to(id).kind, Kind::done);
  now_ = now_ + 1;
  deliver(DeliveryState::undelivered);
  sync();
  advance_days(6);
  EXPECT_EQ(run_timers().refunded, 0u);
  advance_days(1);
  EXPECT_EQ(run_timers().refunded, 1u);
}

// MAIL-18
TEST_P(GiftActions, ResendToAnotherAddressCreatesNewLinksAndUpdatesRecord) {
  const TransactionId id = send(1).front();
  deliver();
  sync();
  const ActionResult done = resend_to(id, "Bea@Example.org");
  EXPECT_EQ(done.kind, Kind::done);
  EXPECT_TRUE(done.is_readdressed);
  EXPECT_EQ(done.previous_email, "p0@example.com");
  EXPECT_EQ(gift(id).transaction.generation, 1);
  EXPECT_EQ(gift(id).transaction.email, "Bea@Example.org");
  sync();
  EXPECT_EQ(text(id, GiftField::recipient_email), "Bea@Example.org");
  EXPECT_THAT(deliver(), SizeIs(1));
}

// MAIL-20
TEST_P(GiftActions, RefusalNamesTheCurrentStatus) {
  const TransactionId linked = send(1, SendMode::urls).front();
  EXPECT_THAT(resend_to(linked).reason, HasSubstr("its links were returned to the caller"));
  EXPECT_EQ(resend_to({987654}).kind, Kind::unknown);
  for (const Status end :
       {Status::opened, Status::redeemed, Status::donated, Status::expired, Status::refunded}) {
    const TransactionId id = send(1).front();
    deliver();
    report(id, end);
    const ActionResult refused = resend_to(id);
    EXPECT_EQ(refused.kind, Kind::refused);
    EXPECT_EQ(refused.reason, "it was " + std::string(to_word(end)) + " on " + to_rfc3339(now_));
    EXPECT_THAT(deliver(), IsEmpty());
    if (end == Status::opened) continue;
    const ActionResult cancelled = cancel(store_->changes, store_->lifecycle, id, "root", now_);
    EXPECT_EQ(cancelled.kind, Kind::refused);
    EXPECT_EQ(cancelled.reason, refused.reason);
    EXPECT_EQ(gift(id).transaction.generation, 0);
  }
}

// CON-21
TEST_P(GiftActions, ObstaclesAreThoseForWhichTheActionIsRefused) {
  const TransactionId id = send(1).front();
  const auto view = [&] {
    return store::MailContext{gift(id), store_->changes.spans_of(std::span(&id, 1)),
                              store_->deliveries.find(id)};
  };
  EXPECT_EQ(resend_problem(view(), false)->reason, resend_to(id).reason);
  EXPECT_FALSE(resend_problem(view(), true)) << "it is queued";
  EXPECT_EQ(cancel_problem(view()), "");
  deliver();
  EXPECT_FALSE(resend_problem(view(), false));
  report(id, Status::redeemed);
  EXPECT_EQ(resend_problem(view(), true)->reason, resend_to(id, "bea@example.org").reason);
  EXPECT_EQ(cancel_problem(view()), cancel(store_->changes, store_->lifecycle, id, "root", now_).reason);
  store::MailContext elsewhere = view();
  elsewhere.gift.transaction.gift_source = "shop";
  EXPECT_THAT(resend_problem(elsewhere, true)->reason, HasSubstr("giftsync did not send it"));
  EXPECT_THAT(cancel_problem(elsewhere), HasSubstr("giftsync did not send it"));
  EXPECT_EQ(retry_problem(std::nullopt, std::nullopt, now_), "the CRM has its current state");
  using State = store::CrmSyncStatus;
  EXPECT_EQ(retry_problem(std::nullopt, State::written, now_), "the CRM has its current state");
  for (const State state : {State::skipped, State::deleted, State::rejected})
    EXPECT_THAT(
        retry_problem(std::nullopt, state, now_),
        testing::AllOf(testing::Not(testing::IsEmpty()), testing::Not(testing::HasSubstr("current"))));
  store::SyncWait wait{.next_attempt_at = now_ + 1, .attempts = 1, .last_error = ""};
  EXPECT_EQ(retry_problem(wait, std::nullopt, now_), "it is tried anyway within minutes");
  wait.is_rejected = true;
  EXPECT_EQ(retry_problem(wait, std::nullopt, now_), "");
  EXPECT_NE(retry_problem(wait, std::nullopt, now_ + 1), "") << "it is due";
}

// CON-8
TEST_P(GiftActions, TheEventOfAnActionIsWrittenWithIt) {
  const TransactionId id = send(1).front();
  store::AuditEvent event;
  event.actor = "ana@example.com";
  event.action = "gift.resend";
  ASSERT_EQ(resend(*store_, {id, "bea@example.org", "ana@example.com", event}, now_).kind, Kind::done);
  event.action = "gift.cancel";
  ASSERT_EQ(cancel(store_->changes, store_->lifecycle, id, "ana@example.com", now_, event).kind, Kind::done);
  EXPECT_EQ(cancel(store_->changes, store_->lifecycle, id, "ana@example.com", now_, event).kind,
            Kind::refused);
  const auto events = store_->audit.list(store::Viewer::of_command_line(), {}, 10);
  ASSERT_THAT(events, SizeIs(2)) << "none of a refusal";
  EXPECT_EQ(events[0].action, "gift.cancel");
  EXPECT_EQ(events[1].detail, "to another address");
}

// GUARD-1, GUARD-3
TEST_P(GiftActions, NoGiftIsMailedAgainToAListedAddress) {
  const TransactionId id = send(1).front();
  deliver(DeliveryState::undelivered);
  const auto list = [&](const std::string& pattern, DoNotSendReason reason) {
    const store::DoNotSendEntry entry{pattern, reason, "", {}, now_, "root", {}};
    ASSERT_EQ(store_->do_not_send.add(std::span(&entry, 1), {}), 1) << pattern;
  };
  list("p0@example.com", DoNotSendReason::bounced);
  EXPECT_EQ(resend_to(id, "P0@EXAMPLE.com").kind, Kind::done) << "the mailbox may work again";
  deliver(DeliveryState::undelivered);
  list("bea@example.org", DoNotSendReason::bounced);
  const ActionResult bounced = resend_to(id, "Bea@Example.org");
  EXPECT_EQ(bounced.kind, Kind::refused);
  EXPECT_THAT(bounced.reason, HasSubstr("The recipient's mail server said on"));
  EXPECT_EQ(gift(id).transaction.email, "p0@example.com");
  for (const auto& [reason, words] : {std::pair{DoNotSendReason::complained, "reported a gift as unwanted"},
                                      std::pair{DoNotSendReason::opted_out, "The recipient asked on"},
                                      std::pair{DoNotSendReason::blocked, "an admin listed it on"}}) {
    list("p0@example.com", reason);
    const ActionResult refused = resend_to(id);
    EXPECT_EQ(refused.kind, Kind::refused) << words;
    EXPECT_THAT(refused.reason, HasSubstr(words));
    EXPECT_FALSE(refused.reason.ends_with('.')) << "it is a part of a sentence";
  }
  list("example.org", DoNotSendReason::blocked);
  EXPECT_THAT(resend_to(id, "cleo@mail.example.org").reason, HasSubstr("No gifts are sent to example.org"));
  EXPECT_EQ(resend_to(id, "dan@example.net").kind, Kind::done);
  EXPECT_EQ(gift(id).transaction.email, "dan@example.net");
}

// MAIL-16, MAIL-19
TEST_P(GiftActions, MailBeingSentIsNotSentTwice) {
  const TransactionId id = send(1).front();
  EXPECT_THAT(resend_to(id).reason, HasSubstr("has not left yet"));
  const auto claims = store_->deliveries.claim("mailer", 60'000, 10, now_);
  const store::DeliveryQueue::Sending sending{claims.front(), "mail"};
  // Another address before it leaves: the holder of the claim may not send it any more.
  ASSERT_EQ(resend_to(id, "bea@example.org").kind, Kind::done);
  EXPECT_FALSE(store_->deliveries.begin_sending("mailer", std::span(&sending, 1), 60'000, now_)[0]);
  const auto fresh = store_->deliveries.claim("mailer", 60'000, 10, now_);
  ASSERT_THAT(fresh, SizeIs(1));
  const store::DeliveryQueue::Sending leaving{fresh.front(), "mail"};
  ASSERT_TRUE(store_->deliveries.begin_sending("mailer", std::span(&leaving, 1), 60'000, now_)[0]);
  EXPECT_EQ(resend_to(id, "cleo@example.org").kind, Kind::try_later);
  EXPECT_EQ(resend_to(id).kind, Kind::try_later);
  store::DeliveryOutcome outcome = outcome_of(fresh.front(), DeliveryState::accepted);
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), now_), 1u);
}

// MAIL-21
TEST_P(GiftActions, CancelRefundsAndRevokesLinksAndMail) {
  const TransactionId id = send(1).front();
  const ActionResult done = cancel(store_->changes, store_->lifecycle, id, "root", now_);
  EXPECT_EQ(done.kind, Kind::done);
  EXPECT_EQ(done.state.status, Status::refunded);
  EXPECT_EQ(gift(id).transaction.generation, 1);
  EXPECT_EQ(store_->deliveries.find(id)->state, DeliveryState::withdrawn);
  EXPECT_THAT(deliver(), IsEmpty());
  sync();
  EXPECT_EQ(text(id, GiftField::status), "refunded");
  EXPECT_EQ(cancel(store_->changes, store_->lifecycle, id, "root", now_ + 5).reason,
            "it was refunded on " + to_rfc3339(now_));
  EXPECT_EQ(resend_to(id).kind, Kind::refused);
  advance_days(500);
  EXPECT_EQ(run_timers().expired, 0u);
  EXPECT_EQ(cancel(store_->changes, store_->lifecycle, {987654}, "root", now_).kind, Kind::unknown);
}

// CON-60
TEST_P(GiftActions, AResendAndACancellationKeepWhatTheMailWas) {
  const TransactionId id = send(1).front();
  const auto end_mail = [&](DeliveryState state, const std::string& reply) {
    const auto claim = store_->deliveries.claim("mailer", 60'000, 10, now_).at(0);
    const store::DeliveryQueue::Sending sending{claim, "mail"};
    store_->deliveries.begin_sending("mailer", std::span(&sending, 1), 60'000, now_);
    store::DeliveryOutcome outcome = outcome_of(claim, state);
    outcome.reply = reply;
    outcome.change.reset();
    ASSERT_EQ(store_->deliveries.finish(std::span(&outcome, 1), now_), 1u);
  };
  const auto texts = [&](TransactionId of) {
    std::vector<std::string> found;
    for (const auto& one : store_->lifecycle.find_actions(of))
      found.push_back(std::string(to_word(one.kind)) + " " + one.actor + " " + one.comment);
    return found;
  };
  end_mail(DeliveryState::queued, "450 busy");
  ASSERT_EQ(resend_to(id, "bea@example.org").kind, Kind::done);
  end_mail(DeliveryState::held, "no answer");
  ASSERT_EQ(cancel(store_->changes, store_->lifecycle, id, "sam@example.com", now_).kind, Kind::done);
  EXPECT_THAT(texts(id),
              testing::ElementsAre("mail_deferred mailer 450 busy", testing::StartsWith("resent root to bea"),
                                   "mail_held mailer no answer", "cancelled sam@example.com "));
  const TransactionId accepted = send(1).front();
  deliver();
  ASSERT_EQ(cancel(store_->changes, store_->lifecycle, accepted, "sam@example.com", now_).kind, Kind::done);
  EXPECT_THAT(texts(accepted), testing::ElementsAre("cancelled sam@example.com "))
      << "the outbox has that mail still";
}

TEST_P(GiftActions, MailBeingSentAtCancelIsNotRetried) {
  const TransactionId id = send(1).front();
  const auto claims = store_->deliveries.claim("mailer", 60'000, 10, now_);
  const store::DeliveryQueue::Sending sending{claims.front(), "mail"};
  ASSERT_TRUE(store_->deliveries.begin_sending("mailer", std::span(&sending, 1), 60'000, now_)[0]);
  ASSERT_EQ(cancel(store_->changes, store_->lifecycle, id, "root", now_).kind, Kind::done);
  store::DeliveryOutcome later = outcome_of(claims.front(), DeliveryState::queued);
  later.change.reset();
  EXPECT_EQ(store_->deliveries.finish(std::span(&later, 1), now_), 1u);
  EXPECT_EQ(store_->deliveries.find(id)->state, DeliveryState::withdrawn);
}

// LIFE-22
TEST_P(GiftActions, ConcurrentResendAndRefundHaveOneWinner) {
  for (int round = 0; round < 10; ++round) {
    const TransactionId id = send(1).front();
    deliver(DeliveryState::undelivered);
    sync();
    advance_days(7);
    store::Store other(database_->address());
    ActionResult resent;
    {
      std::jthread timer([&] { lifecycle_step(other.lifecycle, now_); });
      std::jthread admin([&] { resent = resend_to(id); });
    }
    run_timers();
    const bool is_refunded = status(id) == Status::refunded;
    EXPECT_EQ(resent.kind == Kind::done, !is_refunded) << resent.reason;
    EXPECT_EQ(deliver().size(), is_refunded ? 0u : 1u);
    run_timers();
    EXPECT_EQ(status(id), is_refunded ? Status::refunded : Status::delivered);
  }
}

}  // namespace
}  // namespace giftsync::sync
