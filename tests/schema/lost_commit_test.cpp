// A connection that breaks during COMMIT: nobody knows whether the gifts stand until somebody looks, and then
// each stands exactly once.
#include <gtest/gtest.h>

#include <memory>

#include "tests/schema/breakable_wire.h"
#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

using Kind = CreateOutcome::Kind;

class LostCommit : public StoreGround {
 protected:
  static NewGiftRequest asked() {
    NewGiftRequest request;
    request.request.account = {7};
    request.request.item_name = "Coffee";
    request.request.created_at = {1'800'000'000'000};
    request.recipients = {{"ada@example.com", "", "", "Hi"}, {"ben@example.com", "", "", "Hi"}};
    return request;
  }
  long long transactions() { return std::stoll(scalar("SELECT count(*) FROM recipient_transaction")); }
  /// From now on the server ends every connection that commits a gift request.
  void break_commits() {
    sql("CREATE FUNCTION break_commit() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$");
    sql("CREATE CONSTRAINT TRIGGER breaks AFTER INSERT ON gift_request DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION break_commit()");
  }
  void mend_commits() { sql("DROP TRIGGER breaks ON gift_request"); }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, LostCommit, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(LostCommit, StaysUnknownWhileTheStoreIsAwayAndIsCreatedOnceItIsBack) {
  if (GetParam() == Dialect::sqlite) GTEST_SKIP() << "an embedded database has no connection to lose";
  break_commits();
  const NewGiftRequest request = asked();
  CreateOutcome outcome = store_->gifts.create(std::span(&request, 1)).front();
  ASSERT_EQ(outcome.kind, Kind::unknown);
  const GiftRequestId id = outcome.request;
  outcome = store_->gifts.settle(request, outcome);
  ASSERT_EQ(outcome.kind, Kind::unknown);

  mend_commits();
  outcome = store_->gifts.settle(request, outcome);
  EXPECT_EQ(outcome.kind, Kind::created);
  EXPECT_EQ(outcome.request, id) << "under the ids it was allotted";
  EXPECT_EQ(transactions(), 2);
}

TEST_P(LostCommit, OneThatStandsIsNotCreatedAgain) {
  const NewGiftRequest request = asked();
  const CreateOutcome first = store_->gifts.create(std::span(&request, 1)).front();
  CreateOutcome lost{Kind::unknown, first.request, {}, "", "the connection broke"};
  lost.first_transaction = first.recipients.front().id;
  const CreateOutcome settled = store_->gifts.settle(request, lost);
  EXPECT_EQ(settled.kind, Kind::created);
  EXPECT_EQ(settled.request, first.request);
  ASSERT_EQ(settled.recipients.size(), 2u);
  EXPECT_EQ(settled.recipients.back().id, first.recipients.back().id);
  EXPECT_EQ(transactions(), 2);
}

TEST_P(LostCommit, ARowThatIsRefusedForItselfHasFailedAtOnce) {
  NewGiftRequest bad = asked();
  bad.recipients.front().message = std::string("cut \0 here", 10);
  const NewGiftRequest both[] = {bad, asked()};
  const std::vector<CreateOutcome> outcomes = store_->gifts.create(both);
  EXPECT_EQ(outcomes[1].kind, Kind::created);
  EXPECT_NE(outcomes[0].kind, Kind::unknown);
}

/// The same gifts over a wire on which answers get lost.
class SwallowedAnswer : public LostCommit {
 protected:
  void SetUp() override {
    LostCommit::SetUp();
    if (IsSkipped()) return;
    if (GetParam() == Dialect::sqlite) GTEST_SKIP() << "an embedded database has no wire";
    const int port = std::stoi(scalar("SELECT inet_server_port()"));
    wire_ = std::make_unique<BreakableWire>(port);
    DatabaseAddress address = database_->address();
    address.connection += " host=127.0.0.1 port=" + std::to_string(wire_->port());
    store_ = std::make_unique<Store>(address);
  }
  void TearDown() override {
    store_.reset();
    wire_.reset();
    LostCommit::TearDown();
  }
  /// As `gift resend` orders it.
  bool order_mail(TransactionId id) {
    return store_->life.order_mail(id, kSentAt, [&](const MailView& view) {
      MailOrder order{MailKind::gift, view.gift.transaction.email};
      order.act = GiftAct{id, kSentAt, GiftActKind::resent, "root", "to ada@example.com"};
      return std::optional(order);
    });
  }
  TransactionId one_mailed_gift() {
    NewGiftRequest request = asked();
    request.request.mode = SendMode::email;
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }

  std::unique_ptr<BreakableWire> wire_;
};
INSTANTIATE_TEST_SUITE_P(BackEnds, SwallowedAnswer, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(SwallowedAnswer, IdsWhoseBlockMayStandAreSkipped) {
  wire_->swallow_next();
  const NewGiftRequest request = asked();
  EXPECT_EQ(store_->gifts.create(std::span(&request, 1)).front().kind, Kind::created);
}

TEST_P(SwallowedAnswer, GiftsThatStandAreSeenToStand) {
  one_mailed_gift();  // has ids for more
  wire_->swallow_next();
  const NewGiftRequest request = asked();
  EXPECT_EQ(store_->gifts.create(std::span(&request, 1)).front().kind, Kind::created);
  EXPECT_EQ(transactions(), 4);
}

TEST_P(SwallowedAnswer, AMailThatIsOrderedIsNotOrderedTwice) {
  const TransactionId id = one_mailed_gift();
  wire_->swallow_next();
  EXPECT_TRUE(order_mail(id)) << "it stands: whoever asked for it is told so";
  EXPECT_EQ(store_->deliveries.row(id)->number, 2);
  EXPECT_EQ(store_->life.acts_of(id).size(), 1u);
  EXPECT_TRUE(order_mail(id)) << "another one";
  EXPECT_EQ(store_->deliveries.row(id)->number, 3);
}

TEST_P(SwallowedAnswer, AnOutcomeThatStandsIsAccepted) {
  const TransactionId id = one_mailed_gift();
  const StatusChange delivered{{}, "page", id, Status::delivered, kSentAt, kSentAt, {}};
  store_->changes.accept(std::span(&delivered, 1));  // has ids for more
  wire_->swallow_next();
  const StatusChange opened{{}, "page", id, Status::opened, kSentAt, kSentAt, {}};
  const auto always = [](UtcMillis, std::span<const ChangeSpan>) { return true; };
  EXPECT_EQ(store_->changes.accept_if(opened, always, {}), DecidedOutcome::accepted);
  EXPECT_EQ(store_->changes.history(id).size(), 2u);
}

}  // namespace
}  // namespace giftsync::schema
