// The outbox round against a real store and a transport with a memory that can be told what to answer:
// nothing becomes undelivered by the transport's fault, nothing is lost, and what repeats was uncertain first
// (design 3.5).
#include "daemon/mail/delivery_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <filesystem>

namespace giftsync::daemon {
namespace {

using namespace schema;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Remembers what it sent; answers from a script, and accepts when the script is at its end.
class ScriptedTransport : public MailTransport {
 public:
  std::deque<SendResult> script;
  std::vector<OutgoingMail> sent;
  std::optional<SendResult> memory;  ///< what recall() tells
  std::vector<std::string> forgotten;
  std::size_t at_once = 1;

  std::optional<SendResult> prepare(const OutgoingMail&) override { return std::nullopt; }
  SendResult send(const OutgoingMail& mail, std::int64_t) override {
    SendResult result{SendVerdict::accepted, "250 ok"};
    if (!script.empty()) {
      result = script.front();
      script.pop_front();
    }
    if (result.verdict == SendVerdict::accepted || result.verdict == SendVerdict::uncertain)
      sent.push_back(mail);
    return result;
  }
  std::optional<SendResult> recall(const std::string&) override { return memory; }
  void forget(const std::string& message_id) override { forgotten.push_back(message_id); }
  std::size_t mails_at_once() const override { return at_once; }
};

class DeliveryStep : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("giftsync_delivery_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const DatabaseAddress address{Dialect::sqlite, (folder_ / "store.db").string()};
    migrate_store(address);
    store_ = std::make_unique<Store>(address);
    rules_.owner = "one";
    rules_.from_address = "gifts@example.com";
    rules_.installation = "abc";
    rules_.redemption_url = [](const auto&) { return std::string("http://gifts.test/r"); };
    rules_.donation_url = [](const auto&) { return std::string("http://gifts.test/d"); };
    transport_.at_once = GetParam();
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::vector<TransactionId> send_gifts(std::size_t count) {
    NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.gift = {7};
    asked.request.item_name = "Coffee";
    asked.request.sender_email = "sam@example.com";
    asked.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      asked.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&asked, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  DeliveryReport step() {
    return delivery_step(
        *store_, transport_, rules_, [this] { return now_; }, [] { return true; });
  }
  DeliveryState state(TransactionId gift) { return store_->deliveries.row(gift)->state; }
  std::vector<Status> reported(TransactionId gift) {
    std::vector<Status> statuses;
    for (const StatusChange& change : store_->changes.history(gift)) statuses.push_back(change.status);
    return statuses;
  }
  /// As a daemon that died in the middle of sending leaves it.
  void abandon_sending() {
    const auto claims = store_->deliveries.claim("dead", 60'000, 10, now_);
    for (const DeliveryClaim& claim : claims) {
      const DeliveryQueue::Sending sending{claim, "old@example.com"};
      store_->deliveries.begin_sending("dead", std::span(&sending, 1), -1, now_);
    }
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
  ScriptedTransport transport_;
  DeliveryRules rules_;
  UtcMillis now_{1'800'000'000'000};
};

INSTANTIATE_TEST_SUITE_P(MailsAtOnce, DeliveryStep, testing::Values(1, 3));

TEST_P(DeliveryStep, SendsEachMailOnceAndReportsItDelivered) {
  const auto gifts = send_gifts(4);
  EXPECT_EQ(step().accepted, 4u);
  EXPECT_THAT(transport_.sent, SizeIs(4));
  for (const TransactionId gift : gifts) {
    EXPECT_EQ(state(gift), DeliveryState::accepted);
    EXPECT_THAT(reported(gift), ElementsAre(Status::delivered));
  }
  EXPECT_EQ(step().accepted, 0u);
  EXPECT_THAT(transport_.sent, SizeIs(4));
}

TEST_P(DeliveryStep, NamesEachMailOnceAndForAll) {
  const auto gifts = send_gifts(1);
  step();
  EXPECT_EQ(transport_.sent[0].message_id, "gift-" + std::to_string(gifts[0].value) + ".0.abc@example.com");
}

TEST_P(DeliveryStep, AMailThatIsSentAgainHasANameOfItsOwnAndAReminderDeliversNothing) {
  const auto gifts = send_gifts(1);
  const std::string id = std::to_string(gifts[0].value);
  step();
  const auto order = [&](MailKind kind, const std::string& email) {
    store_->life.order_mail(gifts[0], now_, [&](const MailView&) { return MailOrder{kind, email}; });
    step();
    return transport_.sent.back();
  };
  EXPECT_EQ(order(MailKind::gift, "p0@example.com").message_id, "gift-" + id + ".0.2.abc@example.com");
  const OutgoingMail moved = order(MailKind::gift, "bea@example.com");
  EXPECT_EQ(moved.message_id, "gift-" + id + ".1.3.abc@example.com");
  EXPECT_EQ(moved.envelope_to, "bea@example.com");
  EXPECT_THAT(moved.bytes, testing::Not(HasSubstr("Reminder")));
  const std::size_t reports = reported(gifts[0]).size();
  const OutgoingMail reminder = order(MailKind::reminder, "bea@example.com");
  EXPECT_EQ(reminder.message_id, "reminder-" + id + ".1.4.abc@example.com");
  EXPECT_THAT(reminder.bytes, HasSubstr("Subject: Reminder:"));
  EXPECT_THAT(reported(gifts[0]), SizeIs(reports));
}

TEST_P(DeliveryStep, AMailOfAGiftThatIsOverIsNotSent) {
  const auto gifts = send_gifts(2);
  StatusChange ended{{}, "page", gifts[0], Status::donated, now_, now_, {}};
  store_->changes.accept(std::span(&ended, 1));
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(state(gifts[0]), DeliveryState::withdrawn);
  EXPECT_EQ(state(gifts[1]), DeliveryState::accepted);
}

TEST_P(DeliveryStep, ReportsNothingWhenSomebodyElseReports) {
  rules_.policy.delivered_when_accepted = false;
  const auto gifts = send_gifts(1);
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_THAT(reported(gifts[0]), IsEmpty());
}

TEST_P(DeliveryStep, ARefusedRecipientIsUndeliveredAndHoldsUpNobody) {
  const auto gifts = send_gifts(3);
  transport_.script = {{SendVerdict::accepted, ""}, {SendVerdict::refused, "550 no such user"}};
  EXPECT_THAT(step().notes, ElementsAre(HasSubstr("550 no such user")));
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_EQ(state(gifts[1]), DeliveryState::undelivered);
  EXPECT_EQ(state(gifts[2]), DeliveryState::accepted);
  EXPECT_THAT(reported(gifts[1]), ElementsAre(Status::undelivered));
}

TEST_P(DeliveryStep, AFaultyTransportPausesTheOutboxAndTouchesNoGift) {
  const auto gifts = send_gifts(5);
  transport_.script = {{SendVerdict::accepted, ""}, {SendVerdict::transport_fault, "535 wrong password"}};
  EXPECT_THAT(step().notes, ElementsAre(HasSubstr("535 wrong password")));
  EXPECT_THAT(transport_.sent, SizeIs(1));
  for (std::size_t i = 1; i < gifts.size(); ++i) {
    EXPECT_EQ(state(gifts[i]), DeliveryState::queued);
    EXPECT_THAT(reported(gifts[i]), IsEmpty());
  }
  ASSERT_TRUE(store_->deliveries.pause());
  EXPECT_THAT(store_->deliveries.pause()->reason, HasSubstr("535"));
  EXPECT_THAT(step().notes, IsEmpty()) << "while it rests nothing is tried, and nothing is said twice";

  now_ = store_->deliveries.pause()->until;
  transport_.script = {{SendVerdict::transport_fault, "535 wrong password"}};
  EXPECT_THAT(step().notes, IsEmpty());
  EXPECT_EQ(store_->deliveries.pause()->failures, 2);

  for (const char* words : {"no STARTTLS after 12 ms", "no STARTTLS after 7 ms"}) {
    now_ = store_->deliveries.pause()->until;
    transport_.script = {{SendVerdict::transport_fault, words}};
    const auto notes = step().notes;
    if (words == std::string_view("no STARTTLS after 12 ms"))
      EXPECT_THAT(notes, ElementsAre(HasSubstr("no STARTTLS"))) << "another cause is another line";
    else
      EXPECT_THAT(notes, IsEmpty()) << "the same cause is none, whatever numbers it is told with";
  }

  now_ = store_->deliveries.pause()->until;
  EXPECT_THAT(step().news, ElementsAre("the outbox works again"));
  EXPECT_FALSE(store_->deliveries.pause());
  EXPECT_THAT(transport_.sent, SizeIs(2)) << "one mail showed that it works";
  step();
  EXPECT_THAT(transport_.sent, SizeIs(5));
}

TEST_P(DeliveryStep, ADayLongOutageMakesNothingUndelivered) {
  const auto gifts = send_gifts(2);
  while (now_.value <= 1'800'000'000'000 + kDayMillis) {
    transport_.script = {{SendVerdict::transport_fault, "no route to host"}};
    step();
    now_ = now_ + 2 * kHourMillis;
  }
  transport_.script.clear();
  step();
  step();
  for (const TransactionId gift : gifts) EXPECT_EQ(state(gift), DeliveryState::accepted);
}

TEST_P(DeliveryStep, GreylistingIsTriedAgainAndGivenUpAfterADay) {
  const auto gifts = send_gifts(1);
  transport_.script = {{SendVerdict::try_later, "451 greylisted"}};
  EXPECT_EQ(step().later, 1u);
  EXPECT_FALSE(store_->deliveries.pause()) << "the transport is well";
  EXPECT_EQ(step().later, 0u) << "not before it is due";
  now_ = now_ + kDayMillis;
  transport_.script = {{SendVerdict::try_later, "451 greylisted"}};
  EXPECT_EQ(step().undelivered, 1u);
  EXPECT_THAT(reported(gifts[0]), ElementsAre(Status::undelivered));
}

TEST_P(DeliveryStep, AnUncertainMailIsRepeatedLaterUnderTheSameMessageId) {
  const auto gifts = send_gifts(1);
  transport_.script = {{SendVerdict::uncertain, "connection lost"}};
  EXPECT_EQ(step().uncertain, 1u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::uncertain);
  now_ = now_ + sync::kUncertainRetryMillis - 1;
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
  now_ = now_ + 1;
  step();
  ASSERT_THAT(transport_.sent, SizeIs(2));
  EXPECT_EQ(transport_.sent[0].message_id, transport_.sent[1].message_id);
  EXPECT_EQ(transport_.sent[0].bytes, transport_.sent[1].bytes);
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
}

TEST_P(DeliveryStep, AnUncertainMailIsHeldWhenTheAdminWantsSo) {
  rules_.policy.hold_uncertain = true;
  const auto gifts = send_gifts(1);
  transport_.script = {{SendVerdict::uncertain, "connection lost"}};
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::held);
  now_ = now_ + 30 * kDayMillis;
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

TEST_P(DeliveryStep, AnAbandonedSendingIsUncertainWhenNobodyKnows) {
  const auto gifts = send_gifts(1);
  abandon_sending();
  EXPECT_EQ(step().uncertain, 1u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::uncertain);
  EXPECT_THAT(transport_.sent, IsEmpty());
}

TEST_P(DeliveryStep, AnAbandonedSendingIsSettledByATransportThatKnows) {
  const auto gifts = send_gifts(1);
  abandon_sending();
  transport_.memory = SendResult{SendVerdict::accepted, "it is there"};
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_THAT(reported(gifts[0]), ElementsAre(Status::delivered));
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_THAT(transport_.forgotten, ElementsAre("old@example.com")) << "its outcome is durable now";
}

TEST_P(DeliveryStep, AnAbandonedSendingThatNeverHappenedIsSentAtOnce) {
  send_gifts(1);
  abandon_sending();
  transport_.memory = SendResult{SendVerdict::try_later, "not sent"};
  step();
  step();
  ASSERT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(transport_.sent[0].message_id, "old@example.com");
  EXPECT_FALSE(store_->deliveries.pause());
}

TEST_P(DeliveryStep, GivesBackWhatIsPreparedWhenItIsToldToStop) {
  send_gifts(5);
  int asked = 0;
  delivery_step(
      *store_, transport_, rules_, [this] { return now_; }, [&] { return asked++ == 0; });
  EXPECT_THAT(transport_.sent, IsEmpty()) << "the relay may have let the first one wait for a minute";
  step();
  EXPECT_THAT(transport_.sent, SizeIs(5));
}

TEST_P(DeliveryStep, GivesTheRestBackWhenItIsToldToStop) {
  const auto gifts = send_gifts(5);
  int asked = 0;
  delivery_step(
      *store_, transport_, rules_, [this] { return now_; }, [&] { return asked++ < 2; });
  EXPECT_THAT(transport_.sent, SizeIs(GetParam()));
  step();
  EXPECT_THAT(transport_.sent, SizeIs(5)) << "what was given back can be claimed at once";
}

}  // namespace
}  // namespace giftsync::daemon
