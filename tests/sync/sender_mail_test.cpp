// Mails to senders from the gift that becomes undelivered to the relay (MAIL-34, MAIL-35).
#include <array>
#include <deque>

#include "daemon/mail/notice_mail.h"
#include "tests/support/lifecycle_fixture.h"
#include "tests/support/log_lines.h"

namespace giftsync::sync {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr std::int64_t kPause = 10 * kMinuteMillis;

/// Returns scripted results, then accepts.
class Relay : public MailTransport {
 public:
  std::deque<SendResult> script;
  std::vector<OutgoingMail> sent;

  std::optional<SendResult> prepare(const OutgoingMail&) override { return std::nullopt; }
  SendResult send(const OutgoingMail& mail, std::int64_t) override {
    sent.push_back(mail);
    if (script.empty()) return {SendOutcome::accepted, "250 ok"};
    const SendResult result = script.front();
    script.pop_front();
    return result;
  }
  std::optional<SendResult> recover_outcome(const std::string&) override { return std::nullopt; }
  bool has_stale_markers() const override { return false; }
  void remove_stale_markers(const std::function<bool()>&) override {}
};

class SenderMails : public tests::LifecycleFixture {
 protected:
  void SetUp() override {
    LifecycleFixture::SetUp();
    if (IsSkipped()) return;
    delivery_rules_.owner = "one";
    delivery_rules_.from_address = "gifts@example.com";
    delivery_rules_.installation_id = "abc";
    delivery_rules_.compose = [](const store::Gift& gift, const MailIdentity& identity) {
      return OutgoingMail{identity.message_id, "gifts@example.com", gift.transaction.email, "a gift"};
    };
    delivery_rules_.compose_for_sender = [](const store::SenderMail& mail, const MailIdentity& identity) {
      return mail::compose_sender_mail({mail, identity, "gifts@example.com", "", "en"});
    };
  }
  /// What the relay got in a step of the timers' worker, a step of delivery and the sync after it.
  std::vector<OutgoingMail> run(std::vector<SendResult> results = {}) {
    store_->sender_notices.queue_mails(kPause, now_);
    relay_.script.assign(results.begin(), results.end());
    MailDelivery delivery(*store_, delivery_rules_, 1, 1, [this] { return now_; });
    stats_ = delivery.step({.transport = relay_, .should_continue = [] { return true; }});
    sync();
    return std::exchange(relay_.sent, {});
  }
  static SendResult refusal() { return {SendOutcome::refused, "550 5.1.1 no such user"}; }

  DeliveryRules delivery_rules_;
  Relay relay_;
  DeliveryStats stats_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SenderMails,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// MAIL-34, MAIL-35
TEST_P(SenderMails, ASenderIsMailedAboutEachFailureOnce) {
  const auto ids = send(2);
  EXPECT_THAT(run({refusal()}), SizeIs(2));
  ASSERT_EQ(status(ids[0]), Status::undelivered);
  auto mails = run();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_EQ(mails[0].envelope_to, "sam@example.com");
  EXPECT_THAT(mails[0].message_id, HasSubstr("sender-1000000000000001."));
  EXPECT_THAT(mails[0].bytes,
              AllOf(HasSubstr("Gift " + std::to_string(ids[0].value) + ": Coffee for p0@example.com"),
                    HasSubstr("550 5.1.1 no such user"), HasSubstr("It is refunded on "),
                    Not(HasSubstr("p1@example.com")), Not(HasSubstr("/g/"))));
  EXPECT_THAT(stats_.events, IsEmpty()) << "it is no mail of a gift";
  report(ids[0], Status::undelivered);  // a source says it too
  sync();
  now_ = now_ + kHourMillis;
  EXPECT_THAT(run(), IsEmpty());
  ASSERT_EQ(resend(*store_, {ids[0], std::nullopt, "root"}, now_).kind, ActionResult::Kind::done);
  now_ = now_ + 1'000;
  EXPECT_THAT(run({refusal()}), SizeIs(1)) << "the gift alone";
  mails = run();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_EQ(mails[0].envelope_to, "sam@example.com");
  EXPECT_THAT(mails[0].message_id, HasSubstr(".2.abc@"));
}

// MAIL-35, LIFE-23
TEST_P(SenderMails, TheMailKnowsOfAnExtension) {
  const auto ids = send(1);
  EXPECT_THAT(run(), SizeIs(1));
  now_ = now_ + 29 * kDayMillis;
  const ExtendAction action{ids[0], *from_rfc3339("2026-04-02T12:00:00Z"), "root"};
  ASSERT_EQ(extend(*store_, action, now_).kind, ActionResult::Kind::done);
  report(ids[0], Status::undelivered);
  sync();
  const auto mails = run();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_THAT(mails[0].bytes, HasSubstr("It expires on 2 April 2026, 12:00 UTC."));
}

// MAIL-34
TEST_P(SenderMails, AMailThatIsRefusedItselfHasNoNotice) {
  const auto ids = send(1);
  run({refusal()});
  EXPECT_THAT(run({refusal()}), SizeIs(1));
  EXPECT_THAT(tests::messages_of(stats_.warnings),
              ElementsAre(HasSubstr("notice to a gift's sender: undelivered: 550")));
  EXPECT_EQ(status(ids[0]), Status::undelivered);
  now_ = now_ + kDayMillis;
  EXPECT_THAT(run(), IsEmpty());
  EXPECT_THAT(store_->deliveries.failed_mails(now_ - 2 * kDayMillis), SizeIs(1)) << "the gift's mail alone";
}

// MAIL-34
TEST_P(SenderMails, AGiftThatIsSentAgainBeforeTheMailLeavesIsNotInIt) {
  const auto ids = send(1);
  run({refusal()});
  store_->sender_notices.queue_mails(kPause, now_);
  now_ = now_ + 1'000;
  ASSERT_EQ(resend(*store_, {ids[0], std::nullopt, "root"}, now_).kind, ActionResult::Kind::done);
  const auto mails = run();
  ASSERT_THAT(mails, SizeIs(1));
  EXPECT_EQ(mails[0].envelope_to, "p0@example.com");
  EXPECT_EQ(store_->deliveries.count_by_state(std::array{DeliveryState::withdrawn})[0].second, 1);
}

}  // namespace
}  // namespace giftsync::sync
