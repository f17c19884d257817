// Alerts from the conditions to a relay that fails (OPS-45, OPS-46).
#include "daemon/alert_mailer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/captured_log.h"
#include "tests/support/temporary_store.h"

namespace giftsync::daemon {
namespace {

using sync::SendOutcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Answers by recipient; without an answer it accepts. It outlives the transport.
struct RelayState {
  std::map<std::string, SendOutcome> answers;
  std::vector<std::string> tried;
  std::vector<std::string> accepted;  ///< "to message-id"
};
class Relay : public sync::MailTransport {
 public:
  explicit Relay(RelayState& state) : state_(state) {}
  std::optional<sync::SendResult> prepare(const sync::OutgoingMail&) override { return std::nullopt; }
  sync::SendResult send(const sync::OutgoingMail& mail, std::int64_t) override {
    state_.tried.push_back(mail.envelope_to);
    const auto answer = state_.answers.find(mail.envelope_to);
    if (answer != state_.answers.end()) return {answer->second, "450 not " + mail.envelope_to};
    state_.accepted.push_back(mail.envelope_to + " " + mail.message_id);
    return {SendOutcome::accepted, "250 ok"};
  }
  std::optional<sync::SendResult> recover_outcome(const std::string&) override { return std::nullopt; }

 private:
  RelayState& state_;
};

class AlertMailerTest : public testing::Test {
 protected:
  AlertMailerTest() { start(); }
  /// As a daemon's start: what it kept in memory is gone.
  void start() {
    mailer_ = std::make_unique<AlertMailer>(
        store_->alerts, std::make_unique<Relay>(relay_),
        AlertMailerOptions{recipients_, rules_, [this] { return may_work_; },
                           [this] {
                             std::vector<sync::AttentionItem> items;
                             for (const std::string& name : present_)
                               items.push_back({{"what", "next"}, name, sync::Part::mail});
                             return items;
                           },
                           [](const sync::AlertMail& mail, const std::string& to) {
                             std::string id;
                             for (const auto& alert : mail.begun) id += "+" + alert.name;
                             for (const auto& alert : mail.ended) id += "-" + alert.name;
                             return sync::OutgoingMail{id, "gifts@example.com", to, ""};
                           },
                           [this] { return now_; }});
  }
  std::vector<std::string> step(std::int64_t minutes = 1) {
    now_ = now_ + minutes * kMinuteMillis;
    relay_.accepted.clear();
    mailer_->step([this] { return !is_stopping_; });
    return relay_.accepted;
  }

  tests::TemporaryStore store_;
  tests::CapturedLog log_;
  RelayState relay_;
  std::vector<std::string> recipients_{"a@x"};
  sync::AlertRules rules_{};
  std::vector<std::string> present_{"mail.held"};
  UtcMillis now_{1'795'264'200'000};
  bool may_work_ = true;
  bool is_stopping_ = false;
  std::unique_ptr<AlertMailer> mailer_;
};

TEST_F(AlertMailerTest, TellsTheBeginAndTheEndOnceAlsoOverRestarts) {
  EXPECT_THAT(step(), ElementsAre("a@x +mail.held"));
  EXPECT_THAT(step(), IsEmpty());
  start();
  EXPECT_THAT(step(), IsEmpty());
  present_ = {"crm.rejected"};
  EXPECT_THAT(step(), ElementsAre("a@x +crm.rejected-mail.held"));
  start();
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_EQ(store_->alerts.list().size(), 1U);
}

TEST_F(AlertMailerTest, WithoutTheClaimItDoesNothing) {
  may_work_ = false;
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(store_->alerts.list(), IsEmpty());
}

TEST_F(AlertMailerTest, IsTriedAgainUntilTheRelayTakesItAndSaysSoOnce) {
  relay_.answers["a@x"] = SendOutcome::transport_error;
  for (int i = 0; i < 20; ++i) EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(relay_.tried.size(), testing::AllOf(testing::Gt(3U), testing::Lt(9U))) << "ever more rarely";
  EXPECT_THAT(log_.take_lines(), ElementsAre(HasSubstr("is tried again until it can: 450 not a@x")));
  present_ = {"mail.held", "crm.rejected"};
  step();
  relay_.answers.clear();
  EXPECT_THAT(step(10), ElementsAre("a@x +crm.rejected+mail.held")) << "what holds then";
  EXPECT_THAT(log_.take_lines(), ElementsAre("info alert mailed: 2 begun, 0 ended"));
}

TEST_F(AlertMailerTest, AnAcceptedMailIsNotRepeatedForAnotherRecipientsSake) {
  recipients_ = {"a@x", "b@x", "c@x"};
  relay_.answers["b@x"] = SendOutcome::try_later;
  start();
  EXPECT_THAT(step(), ElementsAre("a@x +mail.held", "c@x +mail.held"));
  present_ = {"mail.held", "crm.rejected"};
  EXPECT_THAT(step(10), IsEmpty());
  relay_.answers.clear();
  EXPECT_THAT(step(10), ElementsAre("b@x +mail.held"));
  EXPECT_THAT(step(), ElementsAre("a@x +crm.rejected", "b@x +crm.rejected", "c@x +crm.rejected"));
}

TEST_F(AlertMailerTest, ARefusedAddressHoldsUpNoOther) {
  recipients_ = {"a@x", "b@x"};
  relay_.answers["a@x"] = SendOutcome::refused;
  start();
  EXPECT_THAT(step(), ElementsAre("b@x +mail.held"));
  EXPECT_THAT(log_.take_lines(), ElementsAre(HasSubstr("error an alert was not mailed to a@x: 450 not a@x"),
                                             HasSubstr("alert mailed")));
  present_.clear();
  EXPECT_THAT(step(), ElementsAre("b@x -mail.held"));
  relay_.answers["b@x"] = SendOutcome::refused;
  present_ = {"mail.held"};
  EXPECT_THAT(step(), IsEmpty());
  relay_.answers.clear();
  EXPECT_THAT(step(10), ElementsAre("a@x +mail.held", "b@x +mail.held")) << "all refused: the relay's fault";
}

TEST_F(AlertMailerTest, AServerThatTakesNothingHoldsUpTheOthersForAnHour) {
  recipients_ = {"a@x", "b@x"};
  relay_.answers["a@x"] = SendOutcome::try_later;
  start();
  EXPECT_THAT(step(), ElementsAre("b@x +mail.held"));
  present_.clear();
  for (int i = 0; i < 9; ++i) EXPECT_THAT(step(10), IsEmpty());
  step(10);
  EXPECT_THAT(step(10), ElementsAre("b@x -mail.held"));
}

TEST_F(AlertMailerTest, AStopIsNoFaultAndNothingIsLost) {
  relay_.answers["a@x"] = SendOutcome::transport_error;
  is_stopping_ = true;
  EXPECT_THAT(step(), IsEmpty());
  EXPECT_THAT(log_.take_lines(), IsEmpty());
  relay_.answers.clear();
  is_stopping_ = false;
  start();
  EXPECT_THAT(step(), ElementsAre("a@x +mail.held"));
}

}  // namespace
}  // namespace giftsync::daemon
