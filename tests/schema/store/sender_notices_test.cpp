// What senders are mailed of their undelivered gifts: one notice for each sending of a gift, and one mail at
// a time for a sender.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/text.h"
#include "schema/store/mail/notices.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::int64_t kPause = 10 * kMinuteMillis;

class SenderNoticesTest : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow{kSentAt.value + 10 * kDayMillis};

  std::vector<TransactionId> gifts_of(const std::string& sender, std::size_t count = 1,
                                      SendMode mode = SendMode::email) {
    NewGiftRequest request = request_for(count, mode);
    request.request.item_name = "Coffee";
    request.request.sender_email = sender;
    std::vector<TransactionId> ids;
    const std::vector<CreateOutcome> outcomes = store_->gifts.create(std::span(&request, 1));
    for (const RecipientTransaction& gift : outcomes.front().recipients) ids.push_back(gift.id);
    return ids;
  }
  void set_gift(TransactionId id, const std::string& assignments) {
    sql("UPDATE recipient_transaction SET " + assignments + " WHERE id = " + std::to_string(id.value));
  }
  /// The relay refused the gift's mail then.
  void set_undelivered(TransactionId id, UtcMillis at, const std::string& reply = "550 unknown") {
    set_gift(id, "status = 'undelivered', undelivered_at = " + std::to_string(at.value));
    sql("UPDATE mail_outbox SET state = 'undelivered', last_reply = '" + reply +
        "' WHERE transaction_id = " + std::to_string(id.value));
  }
  void set_mail(TransactionId id, const std::string& state) {
    sql("UPDATE mail_outbox SET state = '" + state + "' WHERE transaction_id = " + std::to_string(id.value));
  }
  void resend(TransactionId id, UtcMillis at) {
    set_gift(id, "resent_at = " + std::to_string(at.value));
    sql("UPDATE mail_outbox SET number = number + 1, state = 'queued', next_attempt_at = 9999999999999 WHERE "
        "transaction_id = " +
        std::to_string(id.value));
  }
  /// A gift of sam@example.com that is undelivered since then.
  TransactionId undelivered_gift(UtcMillis at = kNow) {
    const TransactionId id = gifts_of("sam@example.com").front();
    set_undelivered(id, at);
    return id;
  }
  bool queue(UtcMillis now, std::int64_t pause = kPause) {
    return store_->sender_notices.queue_mails(pause, now);
  }
  std::vector<DeliveryClaim> claim(UtcMillis now) { return store_->deliveries.claim("a", 60'000, 10, now); }
  SenderMail take(const DeliveryClaim& claim, const std::string& claimed_by = "a") {
    return store_->sender_notices.take(claim.transaction, claim.number, claimed_by);
  }
  static std::vector<TransactionId> gifts_in(const SenderMail& mail) {
    std::vector<TransactionId> found;
    for (const SenderNotice& one : mail.notices) found.push_back(one.gift);
    return found;
  }
  void end(const DeliveryClaim& claim, DeliveryState state, UtcMillis now) {
    const DeliveryQueue::Sending sending{claim, "m" + std::to_string(claim.number)};
    ASSERT_TRUE(store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, now).front());
    const DeliveryOutcome outcome{claim.transaction, claim.attempt + 1, state, now, "250 ok", false, {}};
    ASSERT_EQ(store_->deliveries.finish(std::span(&outcome, 1), now), 1u);
  }
  /// Queues the next mail, sends it and returns the gifts in it; none when no mail is due.
  std::vector<TransactionId> mailed(UtcMillis now, std::int64_t pause = kPause) {
    queue(now, pause);
    std::vector<TransactionId> gifts;
    for (const DeliveryClaim& one : claim(now)) {
      for (const TransactionId id : gifts_in(take(one))) gifts.push_back(id);
      end(one, DeliveryState::accepted, now);
    }
    return gifts;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SenderNoticesTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// MAIL-34
TEST_P(SenderNoticesTest, ASenderGetsOneMailAboutAllGiftsHoweverTheyFailed) {
  const TransactionId refused = gifts_of("sam@example.com").front();
  const TransactionId reported = gifts_of(" Sam@Example.com").front();
  const TransactionId of_eve = gifts_of("eve@example.com").front();
  gifts_of("sam@example.com");
  sql("UPDATE mail_outbox SET state = 'accepted', last_reply = '250 ok'");
  set_undelivered(refused, kNow, "550 no such user");
  set_undelivered(of_eve, kNow);
  set_gift(reported, "status = 'undelivered', first_name = 'Ada', last_name = 'Lovelace', undelivered_at = " +
                         std::to_string(kNow.value + 1));
  EXPECT_FALSE(queue(kNow + 2));
  store_ = std::make_unique<Store>(address());  // the daemon was killed
  EXPECT_FALSE(queue(kNow + 3));
  const auto claims = claim(kNow + 3);
  ASSERT_THAT(claims, SizeIs(2));
  for (const DeliveryClaim& one : claims) {
    EXPECT_EQ(one.kind, MailKind::sender);
    EXPECT_EQ(one.number, 1);
    EXPECT_TRUE(is_mail_to_sender(one.transaction));
  }
  const auto of_sam = take(claims[0]).gifts == 2 ? claims[0] : claims[1];
  const SenderMail mail = take(of_sam);
  EXPECT_FALSE(mail.is_obsolete);
  EXPECT_EQ(mail.gifts, 2);
  ASSERT_THAT(gifts_in(mail), ElementsAre(refused, reported));
  EXPECT_EQ(mail.notices[0].item + ", " + mail.notices[0].email + ", " + mail.notices[0].reply,
            "Coffee, ada@example.com, 550 no such user");
  EXPECT_EQ(mail.notices[1].recipient + "/" + mail.notices[1].reply, "Ada Lovelace/")
      << "the relay's reply says nothing of the report";
  EXPECT_EQ(mail.notices[1].undelivered_at, kNow + 1);
  EXPECT_EQ(store_->deliveries.find(of_sam.transaction)->email, mail.email);
  EXPECT_EQ(ascii_lower(mail.email), "sam@example.com");
}

// MAIL-34
TEST_P(SenderNoticesTest, EachSendingOfAGiftIsNoticedOnce) {
  const TransactionId id = undelivered_gift();
  EXPECT_THAT(mailed(kNow), ElementsAre(id));
  set_undelivered(id, kNow + 1'000);  // a report of the same failure
  const UtcMillis next = kNow + kHourMillis;
  EXPECT_THAT(mailed(next), IsEmpty());
  resend(id, next);
  EXPECT_THAT(mailed(next + 1), IsEmpty()) << "it is sent again";
  set_undelivered(id, next - 2'000);  // refused, by a daemon whose clock is behind
  store_ = std::make_unique<Store>(address());
  EXPECT_THAT(mailed(next + 3), ElementsAre(id));
  const UtcMillis last = next + kHourMillis;
  EXPECT_THAT(mailed(last), IsEmpty());
  resend(id, last);
  set_mail(id, "accepted");
  EXPECT_THAT(mailed(last + 1), IsEmpty()) << "the report was about the sending before";
  set_gift(id, "undelivered_at = " + std::to_string(last.value - 999));
  EXPECT_THAT(mailed(last + 2), ElementsAre(id)) << "a report of whole seconds";
}

// MAIL-34
TEST_P(SenderNoticesTest, WhatIsNotUndeliveredAnyMoreWhenTheMailLeavesIsNotInIt) {
  const TransactionId opened = undelivered_gift();
  const TransactionId resent = undelivered_gift();
  const TransactionId failed = undelivered_gift();
  queue(kNow);
  const auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_THAT(gifts_in(take(claims[0])), ElementsAre(opened, resent, failed));
  set_gift(opened, "status = 'opened'");
  resend(resent, kNow + 1);
  const TransactionId later = undelivered_gift();
  queue(kNow + 1);
  EXPECT_THAT(gifts_in(take(claims[0], "b")), ElementsAre(opened, resent, failed)) << "b has no claim on it";
  EXPECT_THAT(gifts_in(take(claims[0])), ElementsAre(failed, later)) << "what is new is in it";
  set_gift(opened, "status = 'undelivered'");
  EXPECT_THAT(gifts_in(take(claims[0])), ElementsAre(failed, later));
  queue(kNow + 1);
  EXPECT_THAT(gifts_in(take(claims[0])), ElementsAre(opened, failed, later)) << "it failed after all";
  set_gift(opened, "status = 'opened'");
  set_gift(failed, "status = 'refunded'");
  set_gift(later, "status = 'delivered'");
  EXPECT_TRUE(take(claims[0]).is_obsolete);
  const DeliveryOutcome withdrawn{
      claims[0].transaction, claims[0].attempt, DeliveryState::withdrawn, kNow + 1, "", false, {}};
  ASSERT_EQ(store_->deliveries.finish(std::span(&withdrawn, 1), kNow + 1), 1u);
  const TransactionId next = undelivered_gift();
  EXPECT_THAT(mailed(kNow + 2), ElementsAre(next)) << "no mail has left, so there is no pause";
}

// MAIL-34
TEST_P(SenderNoticesTest, AMailThatMayHaveLeftStaysAsItIsAndAHeldOneIsFollowedAfterThePause) {
  const TransactionId first = undelivered_gift();
  queue(kNow);
  auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_THAT(gifts_in(take(claims[0])), ElementsAre(first));
  end(claims[0], DeliveryState::uncertain, kNow);
  const TransactionId second = undelivered_gift();
  queue(kNow + kHourMillis);
  claims = claim(kNow + kHourMillis);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].message_id, "m1");
  EXPECT_THAT(gifts_in(take(claims[0])), ElementsAre(first)) << "a repeat is the same mail";
  end(claims[0], DeliveryState::held, kNow + kHourMillis);
  EXPECT_THAT(mailed(kNow + kHourMillis + kPause - 1), IsEmpty());
  EXPECT_THAT(mailed(kNow + kHourMillis + kPause), ElementsAre(second));
}

// MAIL-34
TEST_P(SenderNoticesTest, MailsToOneSenderKeepThePause) {
  for (const std::int64_t pause : {kPause, kDayMillis}) {
    const UtcMillis started = kNow + (pause == kPause ? 0 : 3 * kDayMillis);
    const TransactionId first = undelivered_gift(started);
    EXPECT_THAT(mailed(started, pause), ElementsAre(first));
    const TransactionId second = undelivered_gift(started);
    EXPECT_THAT(mailed(started + 1, pause), IsEmpty());
    const TransactionId third = undelivered_gift(started + 2);
    EXPECT_THAT(mailed(started + pause - 1, pause), IsEmpty());
    EXPECT_EQ(store_->deliveries.retry_deferred(std::nullopt, started + 3), 0) << "no command shortens it";
    EXPECT_THAT(mailed(started + pause, pause), ElementsAre(second, third));
  }
  sql("UPDATE mail_outbox SET updated_at = updated_at + 1000000000000 WHERE kind = 'sender'");
  const TransactionId last = undelivered_gift(kNow + 5 * kDayMillis);
  EXPECT_THAT(mailed(kNow + 5 * kDayMillis), ElementsAre(last)) << "the clock had been ahead";
}

// MAIL-34
TEST_P(SenderNoticesTest, TurnedOnItNamesGiftsOfTheLastDayAndLaterOfAWeek) {
  undelivered_gift(kNow - kDayMillis - 1);
  const TransactionId recent = undelivered_gift(kNow - kDayMillis);
  EXPECT_THAT(mailed(kNow), ElementsAre(recent));
  // What a source reports late.
  const TransactionId late = undelivered_gift(kNow - kHourMillis);
  const UtcMillis in_six_days = kNow + 6 * kDayMillis;
  EXPECT_THAT(mailed(in_six_days), ElementsAre(late));
  undelivered_gift(kNow - kHourMillis);
  const UtcMillis in_seven_days = kNow + 7 * kDayMillis;
  EXPECT_THAT(mailed(in_seven_days), IsEmpty()) << "it failed more than a week ago";
  undelivered_gift(in_seven_days);
  EXPECT_FALSE(queue(in_seven_days));
  const auto claims = claim(in_seven_days);
  ASSERT_THAT(claims, SizeIs(1));
  store_->sender_notices.end();
  EXPECT_TRUE(take(claims[0]).is_obsolete) << "turned off";
  undelivered_gift(in_seven_days);
  store_ = std::make_unique<Store>(address());
  EXPECT_FALSE(queue(in_seven_days + 2 * kDayMillis));
  EXPECT_THAT(gifts_in(take(claims[0])), IsEmpty()) << "that failed while it was off";
}

// MAIL-34
TEST_P(SenderNoticesTest, TurnedOffAndOnAgainWithinADayItNamesWhatNoMailHas) {
  const TransactionId named = undelivered_gift();
  EXPECT_THAT(mailed(kNow), ElementsAre(named));
  const TransactionId waiting = undelivered_gift(kNow + 1);
  EXPECT_THAT(mailed(kNow + 2), IsEmpty()) << "within the pause";
  store_->sender_notices.end();
  EXPECT_THAT(claim(kNow + kPause), IsEmpty());
  EXPECT_THAT(mailed(kNow + kPause), ElementsAre(waiting));
}

// MAIL-34
TEST_P(SenderNoticesTest, AMailThatIsQueuedWhileTheyAreTurnedOffNamesNothing) {
  const TransactionId id = undelivered_gift();
  queue(kNow);
  const auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  store_->sender_notices.end();
  sql("INSERT INTO sender_notice (transaction_id, sending, sender_id, email, reply, undelivered_at, "
      "created_at) "
      "SELECT " +
      std::to_string(id.value) + ", 1, id, 'a', '', 1, 1 FROM notified_sender");
  EXPECT_TRUE(take(claims[0]).is_obsolete) << "another daemon adds them for a moment more";
}

// MAIL-34
TEST_P(SenderNoticesTest, OnlyGiftsThatGiftsyncMailedAreNoticed) {
  set_undelivered(gifts_of("sam@example.com", 1, SendMode::urls).front(), kNow);
  set_undelivered(gifts_of("").front(), kNow);
  const TransactionId external = undelivered_gift();
  set_gift(external, "gift_source = 'crm'");
  const TransactionId sent = gifts_of("sam@example.com").front();
  sql("UPDATE mail_outbox SET state = 'accepted' WHERE transaction_id = " + std::to_string(sent.value));
  EXPECT_THAT(mailed(kNow), IsEmpty());
}

// MAIL-34
TEST_P(SenderNoticesTest, ACampaignIsAddedInPartsAndItsMailNamesTheFirstGifts) {
  const auto ids = gifts_of("sam@example.com", SenderNotices::kMaxAdded + 1);
  sql("UPDATE recipient_transaction SET status = 'undelivered', undelivered_at = " +
      std::to_string(kNow.value));
  sql("UPDATE mail_outbox SET state = 'undelivered'");
  EXPECT_TRUE(queue(kNow));
  Store other(address());
  EXPECT_FALSE(other.sender_notices.queue_mails(kPause, kNow)) << "the other daemon adds the last one";
  EXPECT_FALSE(queue(kNow));
  const auto claims = claim(kNow);
  ASSERT_THAT(claims, SizeIs(1));
  const SenderMail mail = take(claims[0]);
  EXPECT_EQ(mail.gifts, static_cast<std::int64_t>(ids.size()));
  EXPECT_THAT(mail.notices, SizeIs(SenderMail::kMaxNamed));
  EXPECT_EQ(mail.notices.front().gift, ids.front());
  store_->sender_notices.prune(kNow);
  EXPECT_EQ(take(claims[0]).gifts, static_cast<std::int64_t>(ids.size()));
  store_->sender_notices.prune(kNow + 1);
  EXPECT_EQ(take(claims[0]).gifts, 0);
}

// MAIL-34
TEST_P(SenderNoticesTest, AStepWithoutNewsLeavesTheMailAsItIs) {
  EXPECT_THAT(mailed(kNow), IsEmpty());
  const TransactionId id = undelivered_gift();
  EXPECT_THAT(mailed(kNow), ElementsAre(id));
  const std::string row = scalar("SELECT cast(updated_at AS TEXT) FROM mail_outbox WHERE kind = 'sender'");
  undelivered_gift();
  EXPECT_FALSE(queue(kNow + 1));
  EXPECT_FALSE(queue(kNow + 2));
  EXPECT_EQ(scalar("SELECT cast(updated_at AS TEXT) FROM mail_outbox WHERE kind = 'sender'"), row);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM sender_notice WHERE mail_number = 0"), "1");
}

}  // namespace
}  // namespace giftsync::store
