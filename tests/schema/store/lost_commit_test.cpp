// A connection that breaks during COMMIT: it is unknown whether the gifts exist until they are looked up, and
// then each exists exactly once.
#include <gtest/gtest.h>

#include <memory>

#include "tests/support/faulty_proxy.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using Kind = CreateOutcome::Kind;

class LostCommit : public tests::StoreFixture {
 protected:
  static NewGiftRequest new_request() {
    NewGiftRequest request;
    request.request.account = {7};
    request.request.item_name = "Coffee";
    request.request.created_at = {1'800'000'000'000};
    request.recipients = {{"ada@example.com", "", "", "Hi"}, {"ben@example.com", "", "", "Hi"}};
    return request;
  }
  static WriteGroup group_about(TransactionId gift) {
    WriteGroup group;
    group.gift_requests = {new_request()};
    InboundBatch& message = group.messages.emplace_back();
    message.source = "vendor";
    message.message_id = "m1";
    message.now = {1'800'000'000'000};
    message.items.emplace_back().change =
        StatusChange{{}, "vendor", gift, Status::opened, message.now, message.now, {}};
    group.decisions = {{{{}, "page", gift, Status::redeemed, message.now, message.now, {}},
                        [](UtcMillis, std::span<const ChangeSpan> so_far) {
                          return so_far.size() == 1 && so_far[0].status == Status::opened;
                        },
                        {}}};
    return group;
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

INSTANTIATE_TEST_SUITE_P(BackEnds, LostCommit,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// ARCH-24
TEST_P(LostCommit, IsUnknownDuringAnOutageAndCreatedOnceAfterwards) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no connection to lose";
  break_commits();
  const NewGiftRequest request = new_request();
  CreateOutcome outcome = store_->gifts.create(std::span(&request, 1)).front();
  ASSERT_EQ(outcome.kind, Kind::unknown);
  const GiftRequestId id = outcome.request;
  outcome = store_->gifts.resolve_unknown(request, outcome);
  ASSERT_EQ(outcome.kind, Kind::unknown);

  mend_commits();
  outcome = store_->gifts.resolve_unknown(request, outcome);
  EXPECT_EQ(outcome.kind, Kind::created);
  EXPECT_EQ(outcome.request, id) << "under the ids it was allotted";
  EXPECT_EQ(transactions(), 2);
}

TEST_P(LostCommit, ACommittedRequestIsNotCreatedAgain) {
  const NewGiftRequest request = new_request();
  const CreateOutcome first = store_->gifts.create(std::span(&request, 1)).front();
  CreateOutcome lost{Kind::unknown, first.request, {}, "", "the connection broke"};
  lost.first_transaction = first.recipients.front().id;
  const CreateOutcome resolved = store_->gifts.resolve_unknown(request, lost);
  EXPECT_EQ(resolved.kind, Kind::created);
  EXPECT_EQ(resolved.request, first.request);
  ASSERT_EQ(resolved.recipients.size(), 2u);
  EXPECT_EQ(resolved.recipients.back().id, first.recipients.back().id);
  EXPECT_EQ(transactions(), 2);
}

// covers: GUARD-19
TEST_P(LostCommit, ACommittedRequestKeepsItsWarningOfRecentGifts) {
  store_->gifts.set_frequency_rule({.gifts = 2, .days = 30, .refuses = false});
  const auto made_and_resolved = [&](const NewGiftRequest& request) {
    CreateOutcome made = store_->gifts.create(std::span(&request, 1)).front();
    CreateOutcome lost{Kind::unknown, made.request, {}, "", "the connection broke"};
    lost.first_transaction = made.recipients.front().id;
    return std::pair(std::move(made), store_->gifts.resolve_unknown(request, lost));
  };
  NewGiftRequest request = new_request();
  request.warnings = "none";
  request.warnings_with_recent = [](const std::vector<RecentRecipient>& recent) {
    return std::to_string(recent.size()) + " after " + std::to_string(recent.at(0).gifts);
  };
  for (int fitting = 0; fitting < 2; ++fitting) {
    const auto [made, resolved] = made_and_resolved(request);
    EXPECT_EQ(made.warnings, "none");
    EXPECT_EQ(resolved.warnings, "none") << "its own gifts do not count";
    EXPECT_TRUE(resolved.recent.empty());
  }
  for (const bool has_key : {false, true}) {
    if (has_key) request.idempotency = {"key", "hash"};
    const auto [made, resolved] = made_and_resolved(request);
    EXPECT_EQ(made.warnings, has_key ? "2 after 3" : "2 after 2");
    EXPECT_EQ(resolved.kind, Kind::created);
    EXPECT_EQ(resolved.warnings, made.warnings);
    EXPECT_EQ(resolved.recent.size(), 2u);
  }
  NewGiftRequest later = new_request();
  store_->gifts.create(std::span(&later, 1));
  const auto replayed =
      store_->gifts.find_idempotent(request.request.account, request.request.mode, *request.idempotency);
  EXPECT_EQ(replayed->warnings, "2 after 3");
}

// covers: GUARD-26
TEST_P(LostCommit, AHeldRequestThatWasApprovedMeanwhileHasTheGiftsOfItsApproval) {
  NewGiftRequest request = new_request();
  request.hold_reasons = {{"rule", "", "A rule."}};
  const CreateOutcome held = store_->gifts.create(std::span(&request, 1)).front();
  ASSERT_EQ(held.kind, Kind::held);
  NewGiftRequest approved = *request_in(*store_->held.find(held.request));
  approved.request.created_at = request.request.created_at;
  approved.approval = std::make_shared<HeldDecision>(HeldDecision{held.request, "rose", "", {}});
  const CreateOutcome made = store_->gifts.create(std::span(&approved, 1)).front();
  ASSERT_EQ(made.kind, Kind::created);
  CreateOutcome lost{Kind::unknown, held.request, {}, "", "the connection broke"};
  lost.first_transaction = {made.recipients.front().id.value + 500};
  const CreateOutcome resolved = store_->gifts.resolve_unknown(request, lost);
  EXPECT_EQ(resolved.kind, Kind::replayed);
  ASSERT_EQ(resolved.recipients.size(), 2u);
  EXPECT_EQ(resolved.recipients.front().id, made.recipients.front().id);
  const CreateOutcome approval = store_->gifts.resolve_unknown(approved, lost);
  EXPECT_EQ(approval.kind, Kind::replayed) << "the COMMIT of the approval was lost";
  EXPECT_EQ(approval.recipients.front().id, made.recipients.front().id);
  EXPECT_EQ(transactions(), 2);
}

// covers: GUARD-25
TEST_P(LostCommit, ARequestThatBecomesVisibleAsHeldIsNotMade) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "nothing is committed during a write";
  bool is_held = false;
  // It is asked for after the look-up of what was committed.
  store_->gifts.set_frequency_rule({.gifts = 50}, [&] {
    if (!is_held)
      sql("INSERT INTO held_gift_request (request_id, account_id, mode, gift_id, credential_prefix, content, "
          "gifts, findings, state, held_at, expires_at) VALUES (777, 7, 'email', 7, '', '{}', 2, '', 'held', "
          "1, 2)");
    is_held = true;
    return kSentAt;
  });
  const NewGiftRequest request = new_request();
  CreateOutcome lost{Kind::unknown, {777}, {}, "", "the connection broke"};
  lost.first_transaction = {9'000};
  EXPECT_EQ(store_->gifts.resolve_unknown(request, lost).kind, Kind::unknown);
  EXPECT_EQ(transactions(), 0);
  const CreateOutcome resolved = store_->gifts.resolve_unknown(request, lost);
  EXPECT_EQ(resolved.kind, Kind::held);
  EXPECT_EQ(resolved.request, lost.request);
}

// MAIL-29
TEST_P(LostCommit, ARequestThatIsCreatedLaterTakesTheNextTurn) {
  NewGiftRequest request = new_request();
  request.request.mode = SendMode::email;
  const CreateOutcome first = store_->gifts.create(std::span(&request, 1)).front();
  CreateOutcome lost{Kind::unknown, {first.request.value + 500}, {}, "", "the connection broke"};
  lost.first_transaction = {first.recipients.front().id.value + 500};
  EXPECT_EQ(store_->gifts.resolve_unknown(request, lost).kind, Kind::created);
  const auto turn_of = [&](TransactionId id) {
    return std::stoll(scalar("SELECT cast(turn AS TEXT) FROM mail_outbox WHERE transaction_id = " +
                             std::to_string(id.value)));
  };
  EXPECT_EQ(turn_of(lost.first_transaction), turn_of(first.recipients.front().id) + 1);
}

// ARCH-24
TEST_P(LostCommit, AGroupIsWrittenOnceAfterAnOutage) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no connection to lose";
  const NewGiftRequest first = new_request();
  const TransactionId gift = store_->gifts.create(std::span(&first, 1)).front().recipients.front().id;
  break_commits();
  const WriteGroup group = group_about(gift);
  int tries = 0;
  const GroupOutcomes outcomes = store_->urgent_writes.write(group, [&] {
    if (++tries == 2) mend_commits();
    return true;
  });
  EXPECT_EQ(outcomes.gift_requests[0].outcome.kind, Kind::created);
  EXPECT_EQ(outcomes.messages[0].outcome.accepted, 1u);
  EXPECT_EQ(outcomes.decisions[0].outcome, ConditionalOutcome::accepted);
  EXPECT_EQ(transactions(), 4);
  EXPECT_EQ(store_->changes.history(gift).size(), 2u);
}

TEST_P(LostCommit, AGroupGivesUpWhileTheStoreStaysAway) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no connection to lose";
  const NewGiftRequest first = new_request();
  const TransactionId gift = store_->gifts.create(std::span(&first, 1)).front().recipients.front().id;
  break_commits();
  const GroupOutcomes outcomes = store_->urgent_writes.write(group_about(gift), [] { return false; });
  EXPECT_EQ(outcomes.gift_requests[0].outcome.kind, Kind::unknown);
  mend_commits();
}

// ARCH-23
TEST_P(LostCommit, ARowRefusedByAConstraintFailsImmediately) {
  NewGiftRequest bad = new_request();
  bad.recipients.front().message = std::string("cut \0 here", 10);
  const NewGiftRequest both[] = {bad, new_request()};
  const std::vector<CreateOutcome> outcomes = store_->gifts.create(both);
  EXPECT_EQ(outcomes[1].kind, Kind::created);
  EXPECT_NE(outcomes[0].kind, Kind::unknown);
}

// ARCH-23
TEST_P(LostCommit, RequestsOfARefusedGroupAreNotTriedWhileTheStoreIsAway) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no connection to lose";
  NewGiftRequest bad = new_request();
  bad.recipients.front().message = std::string("cut \0 here", 10);
  const NewGiftRequest group[] = {new_request(), new_request(), bad};
  store_->gifts.create(std::span(group, 1));  // has ids for more
  sql("CREATE SEQUENCE tries");
  sql("CREATE FUNCTION break_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('tries'), "
      "pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$");
  sql("CREATE TRIGGER breaks BEFORE INSERT ON gift_request FOR EACH ROW EXECUTE FUNCTION break_insert()");
  const std::vector<CreateOutcome> outcomes = store_->gifts.create(group);
  for (const CreateOutcome& outcome : outcomes) {
    EXPECT_EQ(outcome.kind, Kind::failed);
    EXPECT_TRUE(outcome.transient);
    EXPECT_EQ(outcome.error, outcomes.front().error);
  }
  EXPECT_LE(std::stoi(scalar("SELECT cast(last_value AS TEXT) FROM tries")), 4) << "those of one request";
}

/// The same store through a proxy that loses responses.
class LostCommitReply : public LostCommit {
 protected:
  void SetUp() override {
    LostCommit::SetUp();
    if (IsSkipped()) return;
    if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no proxy";
    const int port = std::stoi(scalar("SELECT inet_server_port()"));
    proxy_ = std::make_unique<tests::FaultyProxy>(port);
    sql::Dsn address = database_->address();
    address.connection += " host=127.0.0.1 port=" + std::to_string(proxy_->port());
    store_ = std::make_unique<Store>(address);
  }
  void TearDown() override {
    store_.reset();
    proxy_.reset();
    LostCommit::TearDown();
  }
  /// As `gift resend` orders it.
  bool enqueue_mail(TransactionId id) {
    return store_->lifecycle.enqueue_mail(id, kSentAt, [&](const MailContext& view) {
      MailOrder order{MailKind::gift, view.gift.transaction.email};
      order.action = GiftAction{id, kSentAt, GiftActionKind::resent, "root", "to ada@example.com"};
      return std::optional(order);
    });
  }
  TransactionId one_mailed_gift() {
    NewGiftRequest request = new_request();
    request.request.mode = SendMode::email;
    return store_->gifts.create(std::span(&request, 1)).front().recipients.front().id;
  }

  std::unique_ptr<tests::FaultyProxy> proxy_;
};
INSTANTIATE_TEST_SUITE_P(BackEnds, LostCommitReply,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(LostCommitReply, SkipsAnIdBlockOfUnknownOutcome) {
  proxy_->drop_next_commit_reply();
  const NewGiftRequest request = new_request();
  EXPECT_EQ(store_->gifts.create(std::span(&request, 1)).front().kind, Kind::created);
}

TEST_P(LostCommitReply, DetectsCommittedGifts) {
  one_mailed_gift();  // has ids for more
  proxy_->drop_next_commit_reply();
  const NewGiftRequest request = new_request();
  EXPECT_EQ(store_->gifts.create(std::span(&request, 1)).front().kind, Kind::created);
  EXPECT_EQ(transactions(), 4);
}

TEST_P(LostCommitReply, DoesNotEnqueueAMailTwice) {
  const TransactionId id = one_mailed_gift();
  proxy_->drop_next_commit_reply();
  EXPECT_TRUE(enqueue_mail(id)) << "it is committed, and the caller gets true";
  EXPECT_EQ(store_->deliveries.find(id)->number, 2);
  EXPECT_EQ(store_->lifecycle.find_actions(id).size(), 1u);
  EXPECT_TRUE(enqueue_mail(id)) << "another one";
  EXPECT_EQ(store_->deliveries.find(id)->number, 3);
}

TEST_P(LostCommitReply, DetectsACommittedOutcome) {
  const TransactionId id = one_mailed_gift();
  const StatusChange delivered{{}, "page", id, Status::delivered, kSentAt, kSentAt, {}};
  store_->changes.accept(std::span(&delivered, 1));  // has ids for more
  proxy_->drop_next_commit_reply();
  const StatusChange opened{{}, "page", id, Status::opened, kSentAt, kSentAt, {}};
  const auto always = [](UtcMillis, std::span<const ChangeSpan>) { return true; };
  EXPECT_EQ(store_->changes.accept_if(opened, always, {}), ConditionalOutcome::accepted);
  EXPECT_EQ(store_->changes.history(id).size(), 2u);
}

TEST_P(LostCommitReply, DetectsACommittedGroup) {
  const TransactionId id = one_mailed_gift();
  store_->sources.open("vendor", "", kSentAt);
  store_->urgent_writes.write(group_about(one_mailed_gift()), [] { return false; });  // has ids for more
  proxy_->drop_next_commit_reply();
  WriteGroup group = group_about(id);
  group.messages.front().message_id = "m2";
  const GroupOutcomes outcomes = store_->urgent_writes.write(group, [] { return true; });
  EXPECT_EQ(outcomes.gift_requests[0].outcome.kind, CreateOutcome::Kind::created);
  EXPECT_FALSE(outcomes.messages[0].fault);
  EXPECT_EQ(outcomes.messages[0].outcome.kind, IngestResult::Kind::replayed) << "its id is known";
  EXPECT_EQ(outcomes.decisions[0].outcome, ConditionalOutcome::accepted);
  EXPECT_EQ(store_->changes.history(id).size(), 2u);
  EXPECT_EQ(transactions(), 8);
}

}  // namespace
}  // namespace giftsync::store
