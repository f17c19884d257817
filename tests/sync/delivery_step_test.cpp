// The delivery step with a real store and a scripted transport: a transport fault makes no mail undelivered,
// no mail is lost, and only uncertain mails are sent twice (MAIL-5, MAIL-6).
#include "sync/mail/delivery_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <utility>

#include "daemon/mail/gift_mail.h"
#include "tests/support/log_lines.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// What a relay's policy says about one recipient, with a code that may be meant for the session.
SendResult suspect_answer() {
  SendResult result{SendOutcome::transport_error, "530 not for this recipient"};
  result.is_ambiguous = true;
  return result;
}

SendResult refusal(const std::string& reply = "554 5.7.1 Relay access denied") {
  return {SendOutcome::refused, reply, true};
}

/// Records what it sent; returns scripted results, and accepts after the end of the script.
class ScriptedTransport : public MailTransport {
 public:
  std::deque<SendResult> script;
  std::string refused_domain{"@none"};   ///< refused with a code that may be meant for the session
  std::string broken_recipient{"none"};  ///< the relay drops the connection
  std::vector<OutgoingMail> sent;
  std::optional<SendResult> recovered;  ///< returned by recover_outcome()
  std::vector<std::string> discarded_markers;
  std::size_t batch_size = 1;
  std::function<void()> while_sending = [] {};

  std::optional<SendResult> prepare_fault;

  std::optional<SendResult> prepare(const OutgoingMail&) override { return prepare_fault; }
  SendResult send(const OutgoingMail& mail, std::int64_t) override {
    SendResult result{SendOutcome::accepted, "250 ok"};
    std::exchange(while_sending, [] {})();
    if (mail.envelope_to.ends_with(refused_domain)) return suspect_answer();
    if (mail.envelope_to == broken_recipient) return {SendOutcome::transport_error, "connection reset"};
    if (!script.empty()) {
      result = script.front();
      script.pop_front();
    }
    if (result.outcome == SendOutcome::accepted || result.outcome == SendOutcome::uncertain)
      sent.push_back(mail);
    return result;
  }
  std::optional<SendResult> recover_outcome(const std::string&) override { return recovered; }
  void discard_marker(const std::string& message_id) override { discarded_markers.push_back(message_id); }
  std::size_t max_batch_size() const override { return batch_size; }
};

class DeliveryStepTest : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("giftsync_delivery_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const sql::Dsn address{sql::Dialect::sqlite, (folder_ / "store.db").string()};
    store::migrate_store(address);
    store_ = std::make_unique<store::Store>(address);
    rules_.owner = "one";
    rules_.from_address = "gifts@example.com";
    rules_.installation_id = "abc";
    rules_.compose = [](const store::Gift& gift, const MailIdentity& identity) {
      return mail::compose_gift_mail(
          {gift, identity, "gifts@example.com", "http://gifts.test/r", "http://gifts.test/d"});
    };
    transport_.batch_size = GetParam();
  }
  void TearDown() override {
    delivery_.reset();
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  std::vector<TransactionId> send_gifts(std::size_t count, const std::string& domain = "example.com") {
    store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.sender_email = "sam@example.com";
    new_request.request.created_at = now_;
    for (std::size_t i = 0; i < count; ++i)
      new_request.recipients.push_back({"p" + std::to_string(i) + "@" + domain, "", "", "Hi"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&new_request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  DeliveryStats step(const std::function<bool()>& should_continue = [] { return true; }) {
    if (!delivery_)
      delivery_ = std::make_unique<MailDelivery>(*store_, rules_, 1, GetParam(), [this] { return now_; });
    return delivery_->step(
        {.transport = transport_, .should_continue = should_continue, .max_mails = max_mails_});
  }
  DeliveryState state(TransactionId gift) { return store_->deliveries.find(gift)->state; }
  std::vector<Status> reported_statuses(TransactionId gift) {
    std::vector<Status> statuses;
    for (const store::StatusChange& change : store_->changes.history(gift)) statuses.push_back(change.status);
    return statuses;
  }
  /// The state after a daemon died while sending.
  void abandon_sending() {
    const auto claims = store_->deliveries.claim("dead", 60'000, 10, now_);
    for (const store::DeliveryClaim& claim : claims) {
      const store::DeliveryQueue::Sending sending{claim, "old@example.com"};
      store_->deliveries.begin_sending("dead", std::span(&sending, 1), -1, now_);
    }
  }

  std::filesystem::path folder_;
  std::unique_ptr<store::Store> store_;
  ScriptedTransport transport_;
  DeliveryRules rules_;
  std::unique_ptr<MailDelivery> delivery_;
  UtcMillis now_{1'800'000'000'000};
  std::size_t max_mails_ = MailDelivery::kMaxMailsPerStep;
};

INSTANTIATE_TEST_SUITE_P(MailsAtOnce, DeliveryStepTest, testing::Values(1, 3));

TEST_P(DeliveryStepTest, SendsEachMailOnceAndReportsItDelivered) {
  const auto gifts = send_gifts(4);
  EXPECT_EQ(step().accepted, 4u);
  EXPECT_THAT(transport_.sent, SizeIs(4));
  for (const TransactionId gift : gifts) {
    EXPECT_EQ(state(gift), DeliveryState::accepted);
    EXPECT_THAT(reported_statuses(gift), ElementsAre(Status::delivered));
  }
  EXPECT_EQ(step().accepted, 0u);
  EXPECT_THAT(transport_.sent, SizeIs(4));
}

// MAIL-13
// ARCH-28
TEST_P(DeliveryStepTest, AShortStepLeavesTheOthersForTheNextOne) {
  send_gifts(50);
  max_mails_ = MailDelivery::kMaxMailsPerYieldingStep;
  for (const std::size_t sent : {20U, 40U, 50U}) {
    EXPECT_EQ(step().more, sent < 50U);
    EXPECT_EQ(transport_.sent.size(), sent);
  }
}

TEST_P(DeliveryStepTest, EachMailHasAStableMessageId) {
  const auto gifts = send_gifts(1);
  step();
  EXPECT_EQ(transport_.sent[0].message_id, "gift-" + std::to_string(gifts[0].value) + ".0.abc@example.com");
}

// MAIL-23
TEST_P(DeliveryStepTest, AResentMailHasItsOwnMessageIdAndAReminderReportsNoDelivery) {
  const auto gifts = send_gifts(1);
  const std::string id = std::to_string(gifts[0].value);
  step();
  const auto order = [&](MailKind kind, const std::string& email) {
    store_->lifecycle.enqueue_mail(gifts[0], now_, [&](const store::MailContext&) {
      return store::MailOrder{kind, email};
    });
    step();
    return transport_.sent.back();
  };
  EXPECT_EQ(order(MailKind::gift, "p0@example.com").message_id, "gift-" + id + ".0.2.abc@example.com");
  const OutgoingMail moved = order(MailKind::gift, "bea@example.com");
  EXPECT_EQ(moved.message_id, "gift-" + id + ".1.3.abc@example.com");
  EXPECT_EQ(moved.envelope_to, "bea@example.com");
  EXPECT_THAT(moved.bytes, testing::Not(HasSubstr("Reminder")));
  const std::size_t reports = reported_statuses(gifts[0]).size();
  const OutgoingMail reminder = order(MailKind::reminder, "bea@example.com");
  EXPECT_EQ(reminder.message_id, "reminder-" + id + ".1.4.abc@example.com");
  EXPECT_THAT(reminder.bytes, HasSubstr("Subject: Reminder:"));
  EXPECT_THAT(reported_statuses(gifts[0]), SizeIs(reports));
}

// covers: OPS-38
TEST_P(DeliveryStepTest, NoMailLeavesWithLinksOfAnEndedSecret) {
  UtcMillis end = now_;
  rules_.have_links_ended = [&](UtcMillis now) { return now >= end; };
  const auto gifts = send_gifts(1);
  step();
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_EQ(state(gifts[0]), DeliveryState::queued);
  end = now_ + kDayMillis;
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

// covers: GUARD-3
TEST_P(DeliveryStepTest, AFirstMailThatThePolicyRefusesIsUndeliveredAndAFurtherOneIsWithdrawn) {
  std::string refused = "p0@example.com";
  rules_.refuse_mail = [&](const std::string& email) {
    return email == refused ? std::optional<std::string>("The recipient asked for no gifts.") : std::nullopt;
  };
  const auto gifts = send_gifts(2);
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(state(gifts[0]), DeliveryState::undelivered);
  EXPECT_EQ(store_->deliveries.find(gifts[0])->last_reply, "not sent: The recipient asked for no gifts.");
  EXPECT_THAT(reported_statuses(gifts[0]), ElementsAre(Status::undelivered));
  EXPECT_THAT(reported_statuses(gifts[1]), ElementsAre(Status::delivered));
  refused = "p1@example.com";
  store_->lifecycle.enqueue_mail(gifts[1], now_, [](const store::MailContext&) {
    return store::MailOrder{MailKind::reminder, "p1@example.com"};
  });
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(state(gifts[1]), DeliveryState::withdrawn);
  EXPECT_THAT(reported_statuses(gifts[1]), ElementsAre(Status::delivered));
}

// covers: GUARD-22
TEST_P(DeliveryStepTest, ABadAddressIsListedWithTheOutcomeOfTheMail) {
  const SendResult bad{SendOutcome::refused, "550 5.1.1 no such user", false, true};
  const SendResult full{SendOutcome::refused, "552 5.2.2 mailbox full", false, false};
  const auto listed = [&] { return store_->do_not_send.list({}, "", 10, now_); };
  transport_.script = {bad};
  const auto first = send_gifts(1);
  step();
  EXPECT_EQ(state(first[0]), DeliveryState::undelivered);
  EXPECT_THAT(listed(), IsEmpty()) << "by default it is not";
  delivery_.reset();
  rules_.bounce_days = 90;
  transport_.script = {bad, full};
  const auto gifts = send_gifts(2);
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::undelivered);
  EXPECT_EQ(state(gifts[1]), DeliveryState::undelivered);
  ASSERT_THAT(listed(), SizeIs(1));
  EXPECT_EQ(listed()[0].pattern, "p0@example.com");
  EXPECT_EQ(listed()[0].reason, DoNotSendReason::bounced);
  EXPECT_EQ(listed()[0].transaction, gifts[0]);
  EXPECT_EQ(listed()[0].expires_at, now_ + 90 * kDayMillis);
}

// MAIL-17
TEST_P(DeliveryStepTest, AMailOfAnEndedGiftIsNotSent) {
  const auto gifts = send_gifts(2);
  store::StatusChange ended{{}, "page", gifts[0], Status::donated, now_, now_, {}};
  store_->changes.accept(std::span(&ended, 1));
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(state(gifts[0]), DeliveryState::withdrawn);
  EXPECT_EQ(state(gifts[1]), DeliveryState::accepted);
}

// MAIL-8
TEST_P(DeliveryStepTest, ReportsNothingWhenDeliveryIsReportedByTheProvider) {
  rules_.policy.delivered_when_accepted = false;
  const auto gifts = send_gifts(1);
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_THAT(reported_statuses(gifts[0]), IsEmpty());
}

// MAIL-27
TEST_P(DeliveryStepTest, AnAnswerForOneRecipientDefersThatMailAlone) {
  const auto gifts = send_gifts(4);
  transport_.script = {suspect_answer()};
  step();
  EXPECT_FALSE(store_->deliveries.breaker("")) << "the relay took the next mail";
  EXPECT_EQ(state(gifts[0]), DeliveryState::queued);
  EXPECT_THAT(transport_.sent, SizeIs(3));
  EXPECT_EQ(store_->deliveries.find(gifts[0])->next_attempt_at, now_ + kMinuteMillis);
  now_ = now_ + kDayMillis;
  send_gifts(1);
  transport_.script = {suspect_answer()};
  EXPECT_EQ(step().undelivered, 1u) << "for a day the relay took all mails but this one";
}

// MAIL-27
TEST_P(DeliveryStepTest, AnswersForThreeRecipientsPauseDelivery) {
  const auto gifts = send_gifts(5);
  transport_.script = {suspect_answer(), suspect_answer(), suspect_answer()};
  EXPECT_THAT(tests::messages_of(step().warnings), testing::Contains(HasSubstr("refused each of 3 mails")));
  ASSERT_TRUE(store_->deliveries.breaker(""));
  EXPECT_THAT(transport_.sent, IsEmpty());
  for (const TransactionId gift : gifts) EXPECT_THAT(reported_statuses(gift), IsEmpty());
}

// MAIL-27
TEST_P(DeliveryStepTest, AMailThatIsAloneInTheQueueWaitsAndPausesNothing) {
  const auto gifts = send_gifts(1);
  for (const std::int64_t seconds : {5, 10, 20}) {
    transport_.script = {suspect_answer()};
    EXPECT_EQ(step().deferred, 1u);
    EXPECT_FALSE(store_->deliveries.breaker(""));
    now_ = now_ + seconds * kSecondMillis;
    EXPECT_EQ(store_->deliveries.find(gifts[0])->next_attempt_at, now_);
  }
  now_ = now_ + 2 * kDayMillis;
  transport_.script = {suspect_answer()};
  EXPECT_EQ(step().undelivered, 0u) << "nothing shows that the relay works";
}

// MAIL-27
TEST_P(DeliveryStepTest, ARefusalOfOneMailIsUndeliveredOnceTheRelayTookAnother) {
  const auto gifts = send_gifts(4);
  const SendResult taken{SendOutcome::accepted, "250 ok"};
  const SendResult refused = refusal("550 User unknown");
  transport_.script = {refused, taken, taken, taken, refused};
  EXPECT_EQ(step().undelivered, 1u) << "it is tried again at once";
  EXPECT_THAT(transport_.sent, SizeIs(3));
  EXPECT_THAT(reported_statuses(gifts[0]), ElementsAre(Status::undelivered));
  EXPECT_FALSE(store_->deliveries.breaker(""));
}

// MAIL-27
TEST_P(DeliveryStepTest, AMailThatTheRepairedRelayTakesIsDelivered) {
  const auto gifts = send_gifts(4);
  transport_.script = {refusal()};
  EXPECT_EQ(step().accepted, 4u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
}

// MAIL-27
TEST_P(DeliveryStepTest, ARelayThatRefusesEveryMailMakesNoneUndelivered) {
  send_gifts(10);
  const auto deliver_until = [&](UtcMillis end) {
    for (; now_ < end; now_ = now_ + kMinuteMillis) {
      transport_.script.assign(12, refusal());
      delivery_.reset();  // a daemon that is killed in between
      step();
      transport_.script.clear();
    }
  };
  transport_.script.assign(12, refusal());
  transport_.script[1] = {SendOutcome::refused, "550 5.1.1 unknown"};
  EXPECT_EQ(step().undelivered, 1u) << "that one says so";
  ASSERT_TRUE(store_->deliveries.breaker(""));
  EXPECT_THAT(store_->deliveries.breaker("")->reason, HasSubstr("554 5.7.1 Relay access denied"));
  deliver_until(now_ + 3 * kHourMillis);
  now_ = now_ + 2 * kDayMillis;
  deliver_until(now_ + kHourMillis);
  EXPECT_TRUE(store_->deliveries.breaker(""));
  for (int steps = 0; steps < 20; ++steps) {
    step();
    now_ = now_ + kMinuteMillis;
  }
  EXPECT_FALSE(store_->deliveries.breaker(""));
  EXPECT_THAT(transport_.sent, SizeIs(9)) << "all but the one that is unknown, by themselves";
}

/// The last mail within a relay's limit is taken while other connections are refused already.
// MAIL-27
TEST_P(DeliveryStepTest, AMailThatBeganBeforeTheRefusalsShowsNothing) {
  send_gifts(4 * GetParam());
  delivery_ = std::make_unique<MailDelivery>(*store_, rules_, 2, GetParam(), [this] { return now_; });
  ScriptedTransport other;
  other.script.assign(3, refusal("550 5.4.5 Daily sending quota exceeded"));
  max_mails_ = GetParam();
  transport_.while_sending = [&] {
    delivery_->step({.number = 1, .transport = other, .should_continue = [] { return true; }});
  };
  EXPECT_EQ(step().accepted, GetParam());
  EXPECT_TRUE(store_->deliveries.breaker(""));
  EXPECT_THAT(other.sent, IsEmpty());
  max_mails_ = MailDelivery::kMaxMailsPerStep;
  for (int steps = 0; steps < 4; ++steps) {
    now_ = store_->deliveries.breaker("")->until + kMaxPauseMillis;
    transport_.script.assign(3, refusal("550 5.4.5 Daily sending quota exceeded"));
    EXPECT_EQ(step().undelivered, 0u);
    ASSERT_TRUE(store_->deliveries.breaker(""));
  }
}

// MAIL-27
TEST_P(DeliveryStepTest, ARefusalThatNothingDecidesEndsAfterADay) {
  const auto gifts = send_gifts(1);
  const UtcMillis started = now_;
  const auto refuse_at = [&](UtcMillis time) {
    now_ = time;
    transport_.script = {refusal("550 User unknown")};
    step();
    return state(gifts[0]);
  };
  for (const std::int64_t after : {std::int64_t{0}, kHourMillis, kDayMillis - 1})
    EXPECT_EQ(refuse_at(started + after), DeliveryState::queued) << after;
  delivery_.reset();
  EXPECT_EQ(refuse_at(started + kDayMillis + kMaxPauseMillis), DeliveryState::queued)
      << "after a start the other mails that wait are tried first";
  EXPECT_EQ(refuse_at(started + kDayMillis + 2 * kMaxPauseMillis), DeliveryState::undelivered);
  EXPECT_THAT(reported_statuses(gifts[0]), ElementsAre(Status::undelivered));
}

// MAIL-25
TEST_P(DeliveryStepTest, OtherRelaySettingsMakeTheRefusedMailsDue) {
  rules_.relay = "wrong sender";
  send_gifts(3);
  transport_.script = {refusal(), refusal(), refusal()};
  step();
  ASSERT_TRUE(store_->deliveries.breaker(""));
  rules_.relay = "right sender";
  EXPECT_EQ(step().accepted, 3u);
}

/// Ahead of a good mail: each pause used to test one of them, and doubled.
// MAIL-27
TEST_P(DeliveryStepTest, RefusedRecipientsDelayOtherMailsByAFewShortPauses) {
  send_gifts(12, "refused.example.com");
  const auto good = send_gifts(1);
  const UtcMillis started = now_;
  transport_.refused_domain = "@refused.example.com";
  for (int steps = 0; steps < 20 && state(good[0]) != DeliveryState::accepted; ++steps) {
    step();
    if (const auto pause = store_->deliveries.breaker("")) now_ = pause->until;
  }
  EXPECT_EQ(state(good[0]), DeliveryState::accepted);
  EXPECT_LE(now_.value - started.value, 2 * kMinuteMillis);
}

/// It used to be the test of each pause, which doubled, and no other mail left.
// MAIL-4
TEST_P(DeliveryStepTest, AMailThatAlwaysBreaksTheConnectionHoldsUpNoOtherMail) {
  const auto gifts = send_gifts(60);
  transport_.broken_recipient = "p0@example.com";
  const UtcMillis started = now_;
  for (int steps = 0; steps < 40 && transport_.sent.size() < 59; ++steps) {
    step();
    const auto pause = store_->deliveries.breaker("");
    now_ = pause ? pause->until : now_ + 500;
  }
  EXPECT_THAT(transport_.sent, SizeIs(59));
  EXPECT_EQ(state(gifts[0]), DeliveryState::queued);
  EXPECT_THAT(reported_statuses(gifts[0]), IsEmpty());
  EXPECT_LE(now_.value - started.value, kMinuteMillis);
  send_gifts(1, "example.org");
  now_ = now_ + kMaxPauseMillis;
  for (int steps = 0; steps < 4; ++steps) {
    step();
    if (const auto pause = store_->deliveries.breaker("")) now_ = pause->until;
  }
  EXPECT_THAT(transport_.sent, SizeIs(60)) << "a new mail is not behind it";
}

// MAIL-4
TEST_P(DeliveryStepTest, AMailIsNotBlamedForAnOutage) {
  const auto gifts = send_gifts(1);
  for (int tries = 0; tries < 3; ++tries) {
    transport_.script = {{SendOutcome::transport_error, "no route"}};
    step();
    now_ = store_->deliveries.breaker("")->until;
  }
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted) << "due when the pause ends";
}

// MAIL-31
TEST_P(DeliveryStepTest, AFaultInABatchKeepsAllItsOutcomes) {
  const auto gifts = send_gifts(3);
  transport_.script = {{SendOutcome::accepted, ""}, {SendOutcome::transport_error, "no route"}};
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_EQ(state(gifts[1]), DeliveryState::queued);
  EXPECT_EQ(state(gifts[2]), DeliveryState::queued);
  std::vector<std::string> markers = transport_.discarded_markers;
  std::sort(markers.begin(), markers.end());
  EXPECT_TRUE(std::adjacent_find(markers.begin(), markers.end()) == markers.end());
  EXPECT_THAT(markers, SizeIs(GetParam() == 1 ? 2 : 3)) << "once their outcomes are durable";
}

// MAIL-28
TEST_P(DeliveryStepTest, APauseIsTheDaemonsOwn) {
  const auto gifts = send_gifts(3);
  rules_.daemon = "mars";
  transport_.script = {{SendOutcome::transport_error, "no route"}};
  step();
  ASSERT_TRUE(store_->deliveries.breaker("mars"));
  rules_.daemon = "venus";
  step();
  EXPECT_THAT(transport_.sent, SizeIs(3));
  EXPECT_TRUE(store_->deliveries.breaker("mars")) << "its way to the relay is still broken";
  EXPECT_FALSE(store_->deliveries.breaker("venus"));
  rules_.daemon = "mars";
  send_gifts(1);
  step();
  EXPECT_THAT(transport_.sent, SizeIs(3)) << "a paused daemon claims nothing";
  EXPECT_THAT(store_->deliveries.claim("other", 1000, 10, now_), SizeIs(1));
}

// MAIL-25
TEST_P(DeliveryStepTest, APauseOfOtherRelaySettingsDoesNotHold) {
  rules_.relay = "wrong password";
  send_gifts(2);
  transport_.script = {{SendOutcome::transport_error, "535 wrong password"}};
  step();
  EXPECT_THAT(step().info_lines, IsEmpty());
  EXPECT_THAT(transport_.sent, IsEmpty()) << "paused";
  rules_.relay = "right password";
  EXPECT_THAT(tests::messages_of(step().info_lines),
              ElementsAre(HasSubstr("the relay's settings were changed")));
  EXPECT_THAT(transport_.sent, SizeIs(2)) << "at once, and not one mail first";
  EXPECT_FALSE(store_->deliveries.breaker(""));
}

// MAIL-25
TEST_P(DeliveryStepTest, AnotherFaultyRelayPausesAnew) {
  rules_.relay = "old";
  send_gifts(1);
  for (int i = 0; i < 3; ++i) {
    transport_.script = {{SendOutcome::transport_error, "no route"}};
    step();
    now_ = store_->deliveries.breaker("")->until;
  }
  EXPECT_EQ(store_->deliveries.breaker("")->failures, 3);
  rules_.relay = "new";
  transport_.script = {{SendOutcome::transport_error, "no route"}};
  EXPECT_THAT(tests::messages_of(step().warnings), ElementsAre(HasSubstr("mail delivery paused")));
  EXPECT_EQ(store_->deliveries.breaker("")->failures, 1);
  EXPECT_EQ(store_->deliveries.breaker("")->since, now_);
  EXPECT_EQ(store_->deliveries.breaker("")->relay, "new");
}

// OPS-30
TEST_P(DeliveryStepTest, AcceptedMailsAreEventsForTheLog) {
  const auto gifts = send_gifts(2);
  transport_.script = {{SendOutcome::refused, "550 no such user"}};
  const auto events = step().events;
  ASSERT_THAT(events, SizeIs(1));
  EXPECT_EQ(events.front().kind, GiftEventKind::mailed);
  EXPECT_EQ(events.front().gift, gifts[1]);
  EXPECT_EQ(events.front().request, store_->gifts.find(gifts).front().request.id);
}

TEST_P(DeliveryStepTest, ARefusedRecipientIsUndeliveredAndDelaysNoOtherMail) {
  const auto gifts = send_gifts(3);
  transport_.script = {{SendOutcome::accepted, ""}, {SendOutcome::refused, "550 no such user"}};
  const auto warnings = step().warnings;
  EXPECT_THAT(tests::messages_of(warnings), ElementsAre(HasSubstr("550 no such user")));
  EXPECT_EQ(tests::fields_text(warnings.front()), "gift=" + std::to_string(gifts[1].value));  // OPS-47
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_EQ(state(gifts[1]), DeliveryState::undelivered);
  EXPECT_EQ(state(gifts[2]), DeliveryState::accepted);
  EXPECT_THAT(reported_statuses(gifts[1]), ElementsAre(Status::undelivered));
}

// MAIL-4
TEST_P(DeliveryStepTest, ATransportFaultPausesDeliveryAndChangesNoGift) {
  const auto gifts = send_gifts(5);
  transport_.script = {{SendOutcome::accepted, ""}, {SendOutcome::transport_error, "535 wrong password"}};
  EXPECT_THAT(tests::messages_of(step().warnings), ElementsAre(HasSubstr("535 wrong password")));
  EXPECT_THAT(transport_.sent, SizeIs(1));
  for (std::size_t i = 1; i < gifts.size(); ++i) {
    EXPECT_EQ(state(gifts[i]), DeliveryState::queued);
    EXPECT_THAT(reported_statuses(gifts[i]), IsEmpty());
  }
  ASSERT_TRUE(store_->deliveries.breaker(""));
  EXPECT_THAT(store_->deliveries.breaker("")->reason, HasSubstr("535"));
  EXPECT_THAT(step().warnings, IsEmpty()) << "while delivery is paused nothing is sent or logged again";

  now_ = store_->deliveries.breaker("")->until;
  transport_.script = {{SendOutcome::transport_error, "535 wrong password"}};
  EXPECT_THAT(step().warnings, IsEmpty());
  EXPECT_EQ(store_->deliveries.breaker("")->failures, 2);

  for (const char* reason : {"no STARTTLS after 12 ms", "no STARTTLS after 7 ms"}) {
    now_ = store_->deliveries.breaker("")->until;
    transport_.script = {{SendOutcome::transport_error, reason}};
    const auto warnings = tests::messages_of(step().warnings);
    if (reason == std::string_view("no STARTTLS after 12 ms"))
      EXPECT_THAT(warnings, ElementsAre(HasSubstr("no STARTTLS"))) << "another cause is logged";
    else
      EXPECT_THAT(warnings, IsEmpty()) << "the same cause with other numbers is not logged";
  }

  now_ = store_->deliveries.breaker("")->until;
  EXPECT_THAT(tests::messages_of(step().info_lines), ElementsAre("mail delivery resumed"));
  EXPECT_FALSE(store_->deliveries.breaker(""));
  EXPECT_THAT(transport_.sent, SizeIs(2)) << "one mail showed that the transport works";
  step();
  EXPECT_THAT(transport_.sent, SizeIs(5));
}

TEST_P(DeliveryStepTest, ADayLongOutageMakesNothingUndelivered) {
  const auto gifts = send_gifts(2);
  while (now_.value <= 1'800'000'000'000 + kDayMillis) {
    transport_.script = {{SendOutcome::transport_error, "no route to host"}};
    step();
    now_ = now_ + 2 * kHourMillis;
  }
  transport_.script.clear();
  step();
  step();
  for (const TransactionId gift : gifts) EXPECT_EQ(state(gift), DeliveryState::accepted);
}

TEST_P(DeliveryStepTest, GreylistingIsRetriedForADay) {
  const auto gifts = send_gifts(1);
  transport_.script = {{SendOutcome::try_later, "451 greylisted"}};
  EXPECT_EQ(step().deferred, 1u);
  EXPECT_FALSE(store_->deliveries.breaker("")) << "the transport works";
  EXPECT_EQ(step().deferred, 0u) << "not before it is due";
  now_ = now_ + kDayMillis;
  transport_.script = {{SendOutcome::try_later, "451 greylisted"}};
  EXPECT_EQ(step().undelivered, 1u);
  EXPECT_THAT(reported_statuses(gifts[0]), ElementsAre(Status::undelivered));
}

// MAIL-2
TEST_P(DeliveryStepTest, TheDayBeginsAgainAfterALongPauseAlsoForADaemonThatIsRestarted) {
  const auto gifts = send_gifts(2);
  const SendResult greylisted{SendOutcome::try_later, "451 greylisted"};
  transport_.script.assign(2, greylisted);
  EXPECT_EQ(step().deferred, 2u);
  now_ = now_ + kMinuteMillis;
  transport_.script.assign(2, {SendOutcome::transport_error, "no route to host"});
  step();
  ASSERT_TRUE(store_->deliveries.breaker(""));
  now_ = now_ + kDayMillis;
  const UtcMillis ended_at = now_;
  transport_.script.assign(1, greylisted);
  EXPECT_EQ(step().undelivered, 0u) << "the test mail's answer ends the pause";
  EXPECT_FALSE(store_->deliveries.breaker(""));
  for (const UtcMillis time : {ended_at, ended_at + kDayMillis - 1}) {
    now_ = time;
    delivery_.reset();
    transport_.script.assign(2, greylisted);
    EXPECT_EQ(step().undelivered, 0u);
    for (const TransactionId gift : gifts) EXPECT_EQ(state(gift), DeliveryState::queued);
  }
  now_ = now_ + kHourMillis;
  transport_.script.assign(2, greylisted);
  EXPECT_EQ(step().undelivered, 2u);
}

// MAIL-36
TEST_P(DeliveryStepTest, AnAdminsPauseHoldsAllMailUntilItIsEnded) {
  const auto gifts = send_gifts(2);
  ASSERT_TRUE(store_->mail_pauses.begin({now_, "root", "wrong item"}));
  const DeliveryStats paused = step();
  EXPECT_EQ(paused.accepted, 0u);
  EXPECT_FALSE(paused.more);
  EXPECT_THAT(tests::messages_of(paused.warnings), ElementsAre(HasSubstr("by root: wrong item")));
  now_ = now_ + kSecondMillis;
  EXPECT_THAT(step().warnings, IsEmpty()) << "it is logged once";
  delivery_.reset();
  EXPECT_EQ(step().accepted, 0u) << "a restart does not end it";
  EXPECT_THAT(transport_.sent, IsEmpty());
  for (const TransactionId gift : gifts) EXPECT_EQ(state(gift), DeliveryState::queued);
  ASSERT_TRUE(store_->mail_pauses.end(now_));
  now_ = now_ + kSecondMillis;
  const DeliveryStats resumed = step();
  EXPECT_EQ(resumed.accepted, 2u);
  EXPECT_THAT(tests::messages_of(resumed.info_lines), ElementsAre(HasSubstr("mail is sent again")));
  EXPECT_THAT(transport_.sent, SizeIs(2));
}

// MAIL-36
TEST_P(DeliveryStepTest, APauseThatBeginsWithinAStepLetsNoOtherMailBegin) {
  const auto gifts = send_gifts(8);
  transport_.while_sending = [&] {
    store_->mail_pauses.begin({now_, "root"});
    now_ = now_ + kSecondMillis;
  };
  EXPECT_EQ(step().accepted, GetParam()) << "what the connection had in hand ended normally";
  EXPECT_EQ(step().accepted, 0u);
  ASSERT_TRUE(store_->mail_pauses.end(now_));
  now_ = now_ + kSecondMillis;
  EXPECT_EQ(step().accepted, gifts.size() - GetParam());
}

// MAIL-36
TEST_P(DeliveryStepTest, TheTimeOfAnAdminsPauseCountsAgainstNoMail) {
  const auto gifts = send_gifts(1);
  const SendResult greylisted{SendOutcome::try_later, "451 greylisted"};
  transport_.script = {greylisted};
  EXPECT_EQ(step().deferred, 1u);
  store_->mail_pauses.begin({now_, "root"});
  now_ = now_ + 2 * kDayMillis;
  EXPECT_EQ(step().undelivered, 0u);
  store_->mail_pauses.end(now_);
  now_ = now_ + kSecondMillis;
  transport_.script = {greylisted};
  EXPECT_EQ(step().deferred, 1u) << "its day begins again";
  now_ = now_ + kDayMillis;
  transport_.script = {greylisted};
  EXPECT_EQ(step().undelivered, 1u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::undelivered);
}

TEST_P(DeliveryStepTest, AnUncertainMailIsRetriedWithTheSameMessageId) {
  const auto gifts = send_gifts(1);
  transport_.script = {{SendOutcome::uncertain, "connection lost"}};
  EXPECT_EQ(step().uncertain, 1u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::uncertain);
  now_ = now_ + kUncertainRetryMillis - 1;
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
  now_ = now_ + 1;
  step();
  ASSERT_THAT(transport_.sent, SizeIs(2));
  EXPECT_EQ(transport_.sent[0].message_id, transport_.sent[1].message_id);
  EXPECT_EQ(transport_.sent[0].bytes, transport_.sent[1].bytes);
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
}

TEST_P(DeliveryStepTest, AnUncertainMailIsHeldIfConfigured) {
  rules_.policy.hold_uncertain = true;
  const auto gifts = send_gifts(1);
  transport_.script = {{SendOutcome::uncertain, "connection lost"}};
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::held);
  now_ = now_ + 30 * kDayMillis;
  step();
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

TEST_P(DeliveryStepTest, AnAbandonedSendingWithoutRecoveredOutcomeIsUncertain) {
  const auto gifts = send_gifts(1);
  abandon_sending();
  EXPECT_EQ(step().uncertain, 1u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::uncertain);
  EXPECT_THAT(transport_.sent, IsEmpty());
}

TEST_P(DeliveryStepTest, AnAbandonedSendingIsResolvedFromTheTransport) {
  const auto gifts = send_gifts(1);
  abandon_sending();
  transport_.recovered = SendResult{SendOutcome::accepted, "it is there"};
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_THAT(reported_statuses(gifts[0]), ElementsAre(Status::delivered));
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_THAT(transport_.discarded_markers, ElementsAre("old@example.com")) << "its outcome is durable now";
}

TEST_P(DeliveryStepTest, AnAbandonedSendingThatWasNotSentIsSentAtOnce) {
  send_gifts(1);
  abandon_sending();
  transport_.recovered = SendResult{SendOutcome::try_later, "not sent"};
  step();
  step();
  ASSERT_THAT(transport_.sent, SizeIs(1));
  EXPECT_EQ(transport_.sent[0].message_id, "old@example.com");
  EXPECT_FALSE(store_->deliveries.breaker(""));
}

TEST_P(DeliveryStepTest, AMailThatAStopEndedIsSentAtOnceByTheNextDaemon) {
  const auto gifts = send_gifts(2);
  transport_.script = {{SendOutcome::transport_error, "stopped", false, false, true}};
  bool is_stopping = false;
  transport_.while_sending = [&] { is_stopping = true; };
  step([&] { return !is_stopping; });
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_EQ(state(gifts[0]), DeliveryState::queued);
  EXPECT_FALSE(store_->deliveries.breaker("")) << "the relay is not at fault";
  step();
  EXPECT_THAT(transport_.sent, SizeIs(2));
}

TEST_P(DeliveryStepTest, AMailThatAStopEndedBeforeItsAttemptStaysAsItIs) {
  const auto gifts = send_gifts(2);
  transport_.prepare_fault = SendResult{SendOutcome::transport_error, "stopped", false, false, true};
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::queued);
  EXPECT_FALSE(store_->deliveries.breaker(""));
  transport_.prepare_fault.reset();
  step();
  EXPECT_THAT(transport_.sent, SizeIs(2));
}

TEST_P(DeliveryStepTest, ReleasesPreparedMailsOnStop) {
  send_gifts(5);
  int checks = 0;
  step([&] { return checks++ == 0; });
  EXPECT_THAT(transport_.sent, IsEmpty()) << "the relay may have delayed the first mail for a minute";
  step();
  EXPECT_THAT(transport_.sent, SizeIs(5));
}

TEST_P(DeliveryStepTest, ReleasesRemainingClaimsOnStop) {
  const auto gifts = send_gifts(5);
  int checks = 0;
  step([&] { return checks++ < 2; });
  EXPECT_THAT(transport_.sent, SizeIs(GetParam()));
  step();
  EXPECT_THAT(transport_.sent, SizeIs(5)) << "released mails can be claimed at once";
}

}  // namespace
}  // namespace giftsync::sync
