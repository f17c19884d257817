// The store fails while mails are sent: what is known about a mail is not lost, so it is neither uncertain
// nor sent twice (MAIL-5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <utility>

#include "platform/dependency_error.h"
#include "sync/mail/delivery_step.h"
#include "tests/support/faulty_proxy.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class AcceptingTransport : public MailTransport {
 public:
  std::function<void()> before_reply = [] {};
  std::vector<std::string> sent;
  std::vector<std::string> discarded_markers;

  std::optional<SendResult> prepare(const OutgoingMail&) override { return std::nullopt; }
  SendResult send(const OutgoingMail& mail, std::int64_t) override {
    sent.push_back(mail.message_id);
    before_reply();
    return {SendOutcome::accepted, "250 ok"};
  }
  std::optional<SendResult> recover_outcome(const std::string&) override { return std::nullopt; }
  void discard_marker(const std::string& message_id) override { discarded_markers.push_back(message_id); }
};

class DeliveryStoreFault : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    rules_.owner = "one";
    rules_.from_address = "gifts@example.com";
    rules_.installation_id = "abc";
    rules_.compose = [this](const store::Gift& gift, const MailIdentity& identity) {
      before_begin_();
      return OutgoingMail{identity.message_id, "gifts@example.com", gift.transaction.email, "text"};
    };
    open_delivery();
  }
  void TearDown() override {
    delivery_.reset();
    StoreFixture::TearDown();
  }
  void open_delivery() {
    delivery_ = std::make_unique<MailDelivery>(*store_, rules_, 1, 1, [this] { return now_; });
  }
  DeliveryStats step() {
    return delivery_->step({.transport = transport_, .should_continue = [] { return true; }});
  }
  std::vector<TransactionId> send_gifts(std::size_t count) {
    const store::NewGiftRequest request = request_for(count);
    std::vector<TransactionId> ids;
    const auto created = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : created.front().recipients) ids.push_back(one.id);
    return ids;
  }
  DeliveryState state(TransactionId gift) { return store_->deliveries.find(gift)->state; }
  /// From now on no mail can be recorded as accepted.
  void refuse_outcomes() {
    if (dialect() == sql::Dialect::sqlite) {
      sql("CREATE TRIGGER refuse_outcome BEFORE UPDATE ON mail_outbox WHEN new.state = 'accepted' "
          "BEGIN SELECT RAISE(ABORT, 'refused'); END");
      return;
    }
    sql("CREATE FUNCTION refuse_outcome() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'refused'; END $$");
    sql("CREATE TRIGGER refuse_outcome BEFORE UPDATE ON mail_outbox FOR EACH ROW WHEN (new.state = "
        "'accepted') EXECUTE FUNCTION refuse_outcome()");
  }
  void accept_outcomes() {
    sql(dialect() == sql::Dialect::sqlite ? "DROP TRIGGER refuse_outcome"
                                          : "DROP TRIGGER refuse_outcome ON mail_outbox");
  }

  std::function<void()> before_begin_ = [] {};
  UtcMillis now_ = kSentAt;
  AcceptingTransport transport_;
  DeliveryRules rules_;
  std::unique_ptr<MailDelivery> delivery_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, DeliveryStoreFault,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(DeliveryStoreFault, AnOutcomeThatCouldNotBeStoredIsStoredBeforeTheNextStep) {
  const auto gifts = send_gifts(2);
  refuse_outcomes();
  EXPECT_THROW(step(), DependencyError);
  EXPECT_THAT(transport_.sent, SizeIs(1)) << "the next mail begins together with the outcome";
  EXPECT_THAT(transport_.discarded_markers, IsEmpty());
  accept_outcomes();
  delivery_->release_after_fault(0);
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_EQ(state(gifts[1]), DeliveryState::queued);
  ASSERT_THAT(store_->changes.history(gifts[0]), SizeIs(1));
  EXPECT_EQ(store_->changes.history(gifts[0]).front().status, Status::delivered);
  step();
  EXPECT_EQ(state(gifts[1]), DeliveryState::accepted) << "its lease is released";
  EXPECT_THAT(transport_.sent, SizeIs(2)) << "each once";
  EXPECT_THAT(transport_.discarded_markers, SizeIs(2));
}

TEST_P(DeliveryStoreFault, AnOutcomeThatTheStoreRefusesKeepsNoOtherMailFromLeaving) {
  const auto gifts = send_gifts(2);
  refuse_outcomes();
  EXPECT_THROW(step(), DependencyError);
  delivery_->release_after_fault(0);
  accept_outcomes();
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::uncertain);
  EXPECT_EQ(state(gifts[1]), DeliveryState::accepted);
}

/// The same store through a proxy that loses responses.
class DeliveryLostCommit : public DeliveryStoreFault {
 protected:
  void SetUp() override {
    DeliveryStoreFault::SetUp();
    if (IsSkipped()) return;
    if (dialect() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no proxy";
    proxy_ = std::make_unique<tests::FaultyProxy>(std::stoi(scalar("SELECT inet_server_port()")));
    sql::Dsn through_proxy = address();
    through_proxy.connection += " host=127.0.0.1 port=" + std::to_string(proxy_->port());
    delivery_.reset();
    store_ = std::make_unique<store::Store>(through_proxy);
    open_delivery();
    send_gifts(1);
    step();  // has change ids for more
    transport_.sent.clear();
  }
  void TearDown() override {
    delivery_.reset();
    store_.reset();
    proxy_.reset();
    DeliveryStoreFault::TearDown();
  }
  /// Loses the commit that follows its first call.
  std::function<void()> lose_one_commit() {
    return [this, is_first = true]() mutable {
      if (std::exchange(is_first, false)) proxy_->drop_next_commit_reply();
    };
  }

  std::unique_ptr<tests::FaultyProxy> proxy_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, DeliveryLostCommit,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(DeliveryLostCommit, AMailThatWasMarkedAndNotSentIsSentAtOnce) {
  const auto gifts = send_gifts(1);
  before_begin_ = lose_one_commit();
  EXPECT_THROW(step(), DependencyError);
  EXPECT_THAT(transport_.sent, IsEmpty());
  EXPECT_EQ(state(gifts[0]), DeliveryState::sending);
  delivery_->release_after_fault(0);
  EXPECT_EQ(state(gifts[0]), DeliveryState::queued);
  EXPECT_EQ(step().uncertain, 0u);
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

TEST_P(DeliveryLostCommit, AMailOfAnOldClaimIsLeftToItsLease) {
  const auto gifts = send_gifts(1);
  before_begin_ = lose_one_commit();
  EXPECT_THROW(step(), DependencyError);
  now_ = now_ + kMaxClaimAgeMillis;
  delivery_->release_after_fault(0);
  EXPECT_EQ(state(gifts[0]), DeliveryState::sending) << "another connection may be sending it";
}

TEST_P(DeliveryLostCommit, AnOutcomeThatWasCommittedCountsOnce) {
  const auto gifts = send_gifts(1);
  transport_.before_reply = lose_one_commit();
  EXPECT_THROW(step(), DependencyError);
  delivery_->release_after_fault(0);
  step();
  EXPECT_EQ(state(gifts[0]), DeliveryState::accepted);
  EXPECT_THAT(store_->changes.history(gifts[0]), SizeIs(1));
  EXPECT_THAT(transport_.sent, SizeIs(1));
}

}  // namespace
}  // namespace giftsync::sync
