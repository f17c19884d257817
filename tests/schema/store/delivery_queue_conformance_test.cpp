// The mail outbox over every back end: a mail is claimed under a lease, marked before it is sent, and its
// outcome recorded once (MAIL-5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schema/store/statements/claims.h"
#include "schema/store/statements/mail_turns.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class DeliveryQueueConformance : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;

  bool begin(const std::string& owner, const DeliveryClaim& claim, const std::string& message_id,
             std::int64_t lease_millis) {
    const DeliveryQueue::Sending sending{claim, message_id};
    return store_->deliveries.begin_sending(owner, std::span(&sending, 1), lease_millis, kNow).front();
  }
  /// One request with that many recipients.
  std::vector<TransactionId> gifts_of(AccountId account, std::size_t count) {
    NewGiftRequest request = request_for(count);
    request.request.account = account;
    request.request.created_at = kNow + later_;
    std::vector<TransactionId> ids;
    const std::vector<CreateOutcome> outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }
  /// `count` mails without gifts, with transaction ids from `first_id` on; their turns from `turn` on, or all
  /// 0.
  void insert_mails(std::int64_t first_id, std::size_t count, std::int64_t turn, UtcMillis due) {
    sql("INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
        "uncertain_retries, last_reply, updated_at, lease_owner, lease_until, turn) WITH RECURSIVE n (i) AS "
        "(SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < " +
        std::to_string(count - 1) + ") SELECT " + std::to_string(first_id) + " + i, 'queued', 0, " +
        std::to_string(due.value) + ", '', 0, '', 0, '', 0, " +
        (turn > 0 ? std::to_string(turn) + " + i" : "0") + " FROM n");
  }
  std::string plan_of(const std::string& query) {
    sql::Database database(address());
    return database.read([&](soci::session& session) {
      const bool is_sqlite = dialect() == sql::Dialect::sqlite;
      std::string text;
      const soci::rowset<soci::row> rows = session.prepare
                                           << (is_sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + query;
      for (const soci::row& row : rows) text += row.get<std::string>(is_sqlite ? 3 : 0) + "\n";
      return text;
    });
  }

  std::int64_t later_ = 0;  ///< when gifts_of() creates its request, after kNow

  static StatusChange change(TransactionId id, Status status, std::int64_t after_millis) {
    return {{}, "import", id, status, kNow + after_millis, kNow + after_millis, {}};
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, DeliveryQueueConformance,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(DeliveryQueueConformance, QueuesAMailForEndpointAOnly) {
  one_gift(SendMode::urls);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, kNow), IsEmpty());
  const TransactionId id = one_gift(SendMode::email);
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].transaction, id);
  EXPECT_EQ(claims[0].state, DeliveryState::queued);
  EXPECT_EQ(claims[0].attempt, 0);
}

TEST_P(DeliveryQueueConformance, AnAbandonedSendingKeepsItsMessageId) {
  one_gift();
  auto claims = store_->deliveries.claim("dead", 60'000, 10, kNow);
  ASSERT_TRUE(begin("dead", claims[0], "m1@example.com", -1));
  claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims[0].state, DeliveryState::sending);
  EXPECT_EQ(claims[0].attempt, 1);
  EXPECT_EQ(claims[0].message_id, "m1@example.com");
  EXPECT_EQ(claims[0].first_deferred_at, std::nullopt)
      << "patience with a recipient does not run while a transport fails";
}

TEST_P(DeliveryQueueConformance, SendingBeginsOnlyUnderALiveLease) {
  one_gift();
  const auto expired = store_->deliveries.claim("a", -1, 10, kNow);
  EXPECT_FALSE(begin("a", expired[0], "m", 60'000));
  const auto claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  EXPECT_FALSE(begin("a", expired[0], "m", 60'000));
  EXPECT_TRUE(begin("b", claims[0], "m", 60'000));
}

TEST_P(DeliveryQueueConformance, StoresAnOutcomeAndItsStatusChangeAtomically) {
  const TransactionId id = one_gift();
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", 60'000);
  DeliveryOutcome outcome{id,       1,     DeliveryState::accepted,         kNow,
                          "250 ok", false, change(id, Status::delivered, 5)};
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow + 5), 1u);
  EXPECT_EQ(store_->deliveries.find(id)->state, DeliveryState::accepted);
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
  outcome.change = change(id, Status::undelivered, 6);
  outcome.state = DeliveryState::undelivered;
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow + 6), 0u)
      << "an accepted mail stays accepted";
  EXPECT_THAT(store_->changes.history(id), SizeIs(1));
}

TEST_P(DeliveryQueueConformance, IgnoresTheOutcomeOfAStaleAttempt) {
  const TransactionId id = one_gift();
  auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", -1);
  claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  begin("b", claims[0], "m", 60'000);
  const DeliveryOutcome stale{id,    1,     DeliveryState::undelivered,        kNow,
                              "550", false, change(id, Status::undelivered, 5)};
  EXPECT_EQ(store_->deliveries.finish(std::span(&stale, 1), kNow), 0u);
  EXPECT_EQ(store_->deliveries.find(id)->state, DeliveryState::sending);
}

// covers: GUARD-23
TEST_P(DeliveryQueueConformance, ListsABadAddressAlsoOfAStaleAttempt) {
  const TransactionId id = one_gift();
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", 60'000);
  store_->lifecycle.enqueue_mail(id, kNow, [](const MailContext&) {
    return std::optional(MailOrder{MailKind::gift, "right@example.com"});
  });
  DeliveryOutcome stale{id,    1,     DeliveryState::undelivered,        kNow,
                        "550", false, change(id, Status::undelivered, 5)};
  stale.do_not_send =
      DoNotSendEntry{"wrong@example.com", DoNotSendReason::bounced, "", id, {}, "mailer", kNow + kDayMillis};
  EXPECT_EQ(store_->deliveries.finish(std::span(&stale, 1), kNow), 0u);
  EXPECT_THAT(store_->changes.history(id), IsEmpty());
  const auto listed = store_->do_not_send.list({}, "", 10, kNow);
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_EQ(listed[0].pattern, "wrong@example.com");
}

TEST_P(DeliveryQueueConformance, AcceptsALateOutcomeOfAnUncertainMail) {
  const TransactionId id = one_gift();
  auto claims = store_->deliveries.claim("slow", 60'000, 10, kNow);
  begin("slow", claims[0], "m", -1);
  claims = store_->deliveries.claim("b", 60'000, 10, kNow);
  const DeliveryOutcome uncertain{id, 1, DeliveryState::uncertain, kNow + 900'000, "?", false, std::nullopt};
  EXPECT_EQ(store_->deliveries.finish(std::span(&uncertain, 1), kNow), 1u);
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow + 899'999), IsEmpty());
  const DeliveryOutcome outcome{id,    1,     DeliveryState::accepted,         kNow,
                                "250", false, change(id, Status::delivered, 5)};
  EXPECT_EQ(store_->deliveries.finish(std::span(&outcome, 1), kNow), 1u);
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow + 900'000), IsEmpty())
      << "it would be sent twice";
  EXPECT_EQ(store_->deliveries.find(id)->uncertain_retries, 1);
}

TEST_P(DeliveryQueueConformance, TheBreakerKeepsItsStartTime) {
  EXPECT_FALSE(store_->deliveries.breaker(""));
  store_->deliveries.open_breaker({kNow, kNow + 5000, 1, "no route"});
  store_->deliveries.open_breaker({kNow + 9, kNow + 9000, 2, "wrong password"});
  const auto pause = store_->deliveries.breaker("");
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->until, kNow + 9000);
  EXPECT_EQ(pause->failures, 2);
  EXPECT_EQ(store_->deliveries.long_pause_ended_at(""), UtcMillis{0});
  store_->deliveries.close_breaker("", kNow + 9500);
  EXPECT_FALSE(store_->deliveries.breaker(""));
  EXPECT_EQ(store_->deliveries.long_pause_ended_at(""), kNow + 9500) << "MAIL-2: also after a restart";
}

// MAIL-28
TEST_P(DeliveryQueueConformance, EachDaemonHasItsOwnPause) {
  store_->deliveries.open_breaker({kNow + 1, kNow + 5000, 1, "no route", "relay", "mars"});
  store_->deliveries.open_breaker({kNow, kNow + 9000, 2, "wrong password", "relay", "venus"});
  ASSERT_THAT(store_->deliveries.breakers(), SizeIs(2));
  EXPECT_EQ(store_->deliveries.breakers().front().daemon, "venus") << "the longest pause first";
  EXPECT_EQ(store_->deliveries.breaker("mars")->reason, "no route");
  store_->deliveries.close_breaker("mars", kNow);
  EXPECT_EQ(store_->deliveries.long_pause_ended_at("mars"), kNow);
  EXPECT_EQ(store_->deliveries.long_pause_ended_at("venus"), UtcMillis{0});
  EXPECT_FALSE(store_->deliveries.breaker("mars"));
  EXPECT_TRUE(store_->deliveries.breaker("venus"));
  store_->deliveries.delete_breakers_before(kNow + 9000);
  EXPECT_TRUE(store_->deliveries.breaker("venus"));
  store_->deliveries.delete_breakers_before(kNow + 9001);
  EXPECT_THAT(store_->deliveries.breakers(), IsEmpty()) << "of a daemon that is gone";
}

// MAIL-25
TEST_P(DeliveryQueueConformance, APauseNamesItsRelayAndBeginsAgainWithAnother) {
  store_->deliveries.open_breaker({kNow, kNow + 5000, 1, "no route", "old"});
  store_->deliveries.open_breaker({kNow + 9, kNow + 9000, 2, "no route", "old"});
  EXPECT_EQ(store_->deliveries.breaker("")->relay, "old");
  EXPECT_EQ(store_->deliveries.breaker("")->since, kNow);
  store_->deliveries.open_breaker({kNow + 20, kNow + 5020, 1, "no route", "new"});
  EXPECT_EQ(store_->deliveries.breaker("")->relay, "new");
  EXPECT_EQ(store_->deliveries.breaker("")->since, kNow + 20);
}

// MAIL-26
TEST_P(DeliveryQueueConformance, RetriesDeferredMailsOfOneGiftOrOfAll) {
  const auto put_off = [&](DeliveryState state) {
    const TransactionId id = one_gift();
    const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
    begin("a", claims.at(0), "m", 60'000);
    const DeliveryOutcome later{id, 1, state, kNow + 60'000, "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&later, 1), kNow);
    return id;
  };
  const TransactionId first = put_off(DeliveryState::queued);
  const TransactionId second = put_off(DeliveryState::queued);
  const TransactionId uncertain = put_off(DeliveryState::uncertain);
  const UtcMillis later = kNow + 5;
  EXPECT_EQ(store_->deliveries.retry_deferred(first, later), 1);
  EXPECT_EQ(store_->deliveries.retry_deferred(first, later), 0) << "it is due already";
  EXPECT_EQ(store_->deliveries.retry_deferred(uncertain, later), 0) << "it might arrive twice";
  EXPECT_EQ(store_->deliveries.find(first)->next_attempt_at, later);
  EXPECT_EQ(store_->deliveries.find(second)->next_attempt_at, kNow + 60'000);
  AuditEvent event;  // CON-8
  event.detail = "deferred mails";
  EXPECT_EQ(store_->deliveries.retry_deferred(first, later, event), 0);
  EXPECT_EQ(store_->deliveries.retry_deferred(std::nullopt, later, event), 1);
  EXPECT_EQ(store_->deliveries.retry_deferred(std::nullopt, later, event), 0);
  const auto events = store_->audit.list(Viewer::of_command_line(), {}, 9);
  ASSERT_THAT(events, SizeIs(1)) << "where nothing was changed there is none";
  EXPECT_EQ(events[0].detail, "deferred mails: 1");
  EXPECT_EQ(store_->deliveries.find(second)->next_attempt_at, later);
  EXPECT_EQ(store_->deliveries.find(uncertain)->next_attempt_at, kNow + 60'000);
}

TEST_P(DeliveryQueueConformance, ResetsOnlyRowsScheduledAfterATime) {
  const auto put_off = [&](UtcMillis now, UtcMillis due) {
    const TransactionId id = one_gift();
    const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
    begin("a", claims.at(0), "m", 60'000);
    const DeliveryOutcome later{id, 1, DeliveryState::queued, due, "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&later, 1), now);
    return id;
  };
  const UtcMillis latest = kNow + kHourMillis;
  const TransactionId waiting = put_off(kNow, latest);
  EXPECT_EQ(store_->deliveries.reset_scheduled_after(latest, kNow), 0);
  const TransactionId early = put_off(kNow - 7, latest + 1);
  const TransactionId late = put_off(latest, latest + kHourMillis);
  EXPECT_EQ(store_->deliveries.reset_scheduled_after(latest, kNow), 2);
  EXPECT_EQ(store_->deliveries.find(waiting)->next_attempt_at, latest);
  std::map<TransactionId, std::optional<UtcMillis>> first_tries;
  for (const DeliveryClaim& claim : store_->deliveries.claim("a", 60'000, 10, kNow))
    first_tries[claim.transaction] = claim.first_deferred_at;
  ASSERT_THAT(first_tries, SizeIs(2));
  EXPECT_EQ(first_tries.at(early), kNow - 7);
  EXPECT_EQ(first_tries.at(late), kNow) << "or it would be given up that much later";
}

TEST_P(DeliveryQueueConformance, ResetsOnlyABreakerOpenPastATime) {
  EXPECT_FALSE(store_->deliveries.reset_breakers_after(kNow, kNow));
  store_->deliveries.open_breaker({kNow + 9, kNow + 300'000, 7, "no route"});
  EXPECT_FALSE(store_->deliveries.reset_breakers_after(kNow + 300'000, kNow));
  EXPECT_TRUE(store_->deliveries.reset_breakers_after(kNow + 299'999, kNow));
  const auto pause = store_->deliveries.breaker("");
  ASSERT_TRUE(pause) << "one mail shows whether the transport is well again";
  EXPECT_EQ(pause->until, kNow);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->failures, 7);
}

// MAIL-29
TEST_P(DeliveryQueueConformance, RequestsTakeTurns) {
  const std::vector<TransactionId> campaign = gifts_of({1}, 6);
  const TransactionId other = gifts_of({2}, 1).front();
  const TransactionId same_account = gifts_of({1}, 1).front();
  const auto claims = store_->deliveries.claim("a", 60'000, 4, kNow);
  std::vector<TransactionId> claimed;
  for (const DeliveryClaim& claim : claims) claimed.push_back(claim.transaction);
  EXPECT_THAT(claimed, ElementsAre(campaign[0], other, campaign[1], same_account))
      << "in due order within a request, and not behind the whole campaign";
}

// MAIL-29
TEST_P(DeliveryQueueConformance, ARequestBeginsWhereTheServiceIs) {
  gifts_of({1}, 30);
  ASSERT_THAT(store_->deliveries.claim("a", 60'000, 20, kNow), SizeIs(20));
  sql("UPDATE mail_outbox SET state = 'accepted' WHERE lease_until > 0");
  later_ = 2000;
  store_->deliveries.refresh_turns(kNow + later_);
  const std::vector<TransactionId> second = gifts_of({2}, 30);
  std::size_t of_second = 0;
  for (const DeliveryClaim& claim : store_->deliveries.claim("a", 60'000, 10, kNow))
    of_second += claim.transaction.value >= second.front().value ? 1 : 0;
  EXPECT_EQ(of_second, 5u) << "it neither waits for the first campaign nor holds it up";
}

// MAIL-29
TEST_P(DeliveryQueueConformance, MailsThatWereTriedHaveHalfOfThePlaces) {
  const auto tried = gifts_of({1}, 6);
  for (const DeliveryClaim& claim : store_->deliveries.claim("a", 60'000, 10, kNow)) {
    begin("a", claim, "m", 60'000);
    const DeliveryOutcome later{claim.transaction, 1, DeliveryState::queued, kNow, "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&later, 1), kNow);
  }
  const auto fresh = gifts_of({2}, 6);
  const auto turns_of = [](const std::vector<DeliveryClaim>& claims) {
    return std::count_if(claims.begin(), claims.end(), [](const DeliveryClaim& one) { return one.turn > 0; });
  };
  const auto first = store_->deliveries.claim("a", 60'000, 4, kNow);
  EXPECT_THAT(first, SizeIs(4));
  EXPECT_EQ(turns_of(first), 2);
  const auto rest = store_->deliveries.claim("a", 60'000, 20, kNow);
  EXPECT_THAT(rest, SizeIs(8)) << "places that no other mail needs are not left empty";
}

// MAIL-29
TEST_P(DeliveryQueueConformance, FindsDueMailsByTheirIndexWithoutSorting) {
  sql("INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
      "uncertain_retries, last_reply, updated_at, lease_owner, lease_until, turn) WITH RECURSIVE n (i) AS "
      "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, CASE WHEN i % 10 = 0 THEN 'queued' "
      "ELSE 'accepted' END, 1, 1, '', 0, '', 0, '', 0, CASE WHEN i % 20 = 0 THEN i ELSE 0 END FROM n");
  sql("ANALYZE mail_outbox");
  std::string retries = due_retries(dialect(), 50);
  retries.replace(retries.find(":now"), 4, std::to_string(kNow.value));
  for (const std::string& query : {retries, due_first_attempts(dialect(), 50)}) {
    const std::string plan = plan_of(query);
    EXPECT_THAT(plan, testing::HasSubstr("mail_outbox_due"));
    EXPECT_THAT(plan, testing::Not(testing::ContainsRegex(
                          "SCAN mail_outbox\n|Seq Scan|USE TEMP B-TREE|Bitmap|[^l] Sort  ")));
  }
}

// ARCH-44
TEST_P(DeliveryQueueConformance, ClaimsBeginToReadAtTheirFloorByTheIndex) {
  insert_mails(1, 2000, 1000, kNow);
  insert_mails(3000, 2000, 0, kNow);
  sql("ANALYZE mail_outbox");
  std::string retries = due_retries(dialect(), 50, kNow - 10'000);
  retries.replace(retries.find(":now"), 4, std::to_string(kNow.value));
  const std::string first_attempts = due_first_attempts(dialect(), 50, 1500);
  EXPECT_THAT(first_attempts, testing::HasSubstr("turn >= 1500"));
  for (const std::string& query :
       {retries, first_attempts, smallest_retry(kNow - 10'000), smallest_retry(std::nullopt),
        lowest_turn(1500), lowest_turn(std::nullopt)}) {
    const std::string plan = plan_of(query);
    EXPECT_THAT(plan, testing::HasSubstr("mail_outbox_due")) << query;
    EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("Seq Scan|USE TEMP B-TREE|[^l] Sort  "))) << query;
  }
}

// ARCH-44
TEST_P(DeliveryQueueConformance, MailBelowTheFloorIsClaimedByTheNextWholeLook) {
  insert_mails(1, ClaimLowerBound::kManyRows, kNow.value, kNow);
  ASSERT_THAT(store_->deliveries.claim("a", 60'000, ClaimLowerBound::kManyRows, kNow),
              SizeIs(ClaimLowerBound::kManyRows));
  sql("UPDATE mail_outbox SET state = 'accepted'");
  ASSERT_THAT(store_->deliveries.claim("a", 60'000, 10, kNow), IsEmpty());
  const UtcMillis low = kNow - 2 * ClaimLowerBound::kLateMillis;
  insert_mails(5001, 1, low.value, kNow);
  insert_mails(5002, 1, 0, low);
  std::size_t claimed = store_->deliveries.claim("a", 60'000, 10, kNow + 1000).size();
  EXPECT_EQ(claimed, dialect() == sql::Dialect::postgresql ? 0u : 2u) << "below the floor";
  claimed += store_->deliveries.claim("a", 60'000, 10, kNow + ClaimLowerBound::kWholeLookMillis).size();
  EXPECT_EQ(claimed, 2u) << "no mail stays hidden";
  const UtcMillis late = kNow - ClaimLowerBound::kLateMillis / 2;
  insert_mails(5003, 1, late.value, kNow);
  insert_mails(5004, 1, 0, late);
  EXPECT_THAT(store_->deliveries.claim("a", 60'000, 10, kNow + ClaimLowerBound::kWholeLookMillis), SizeIs(2))
      << "what may come in late is above the floor";
}

// ARCH-44
TEST_P(DeliveryQueueConformance, BegunMailHoldsNoFloorAtTheTimeOfItsRequest) {
  const TransactionId id = one_gift();
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  const DeliveryQueue::Sending sending{claims.at(0), "m"};
  store_->deliveries.begin_sending("a", std::span(&sending, 1), 60'000, kNow + 90'000);
  EXPECT_EQ(store_->deliveries.find(id)->next_attempt_at, kNow + 30'000);
}

// MAIL-29
TEST_P(DeliveryQueueConformance, RequestsWaitForNoReadOfThePosition) {
  sql::Database& database = *plain_sql_;
  MailTurns turns(std::shared_ptr<sql::Database>(&database, [](sql::Database*) {}));
  insert_mails(1, 1, 500, kNow);
  EXPECT_EQ(turns.first_turn({1}, kNow), 500) << "read once";
  sql("UPDATE mail_outbox SET turn = 700");
  EXPECT_EQ(turns.first_turn({2}, kNow + 60'000), 500) << "not read";
  turns.refresh(kNow + 60'000);
  EXPECT_EQ(turns.first_turn({3}, kNow + 60'000), 700);
  sql("UPDATE mail_outbox SET turn = 900");
  turns.refresh(kNow + 60'999);
  EXPECT_EQ(turns.first_turn({4}, kNow + 60'999), 700) << "once a second";
}

TEST_P(DeliveryQueueConformance, FinishesAndBeginsInOneTransaction) {
  const auto gifts = gifts_of({1}, 3);
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims.at(0), "m0", 60'000);
  const DeliveryOutcome accepted{claims[0].transaction,
                                 1,
                                 DeliveryState::accepted,
                                 kNow,
                                 "250",
                                 false,
                                 change(claims[0].transaction, Status::delivered, 5)};
  const DeliveryQueue::AttemptStart beginning{"a", {{claims[1], "m1"}, {claims[2], "m2"}}, 60'000};
  sql("UPDATE mail_outbox SET lease_owner = 'b' WHERE transaction_id = " +
      std::to_string(claims[2].transaction.value));
  EXPECT_EQ(store_->deliveries.finish_and_begin(std::span(&accepted, 1), beginning, kNow),
            (std::vector<bool>{true, false}));
  EXPECT_EQ(store_->deliveries.find(claims[0].transaction)->state, DeliveryState::accepted);
  EXPECT_EQ(store_->deliveries.find(claims[1].transaction)->state, DeliveryState::sending);
  EXPECT_EQ(store_->deliveries.find(claims[1].transaction)->message_id, "m1");
  EXPECT_EQ(store_->deliveries.find(claims[2].transaction)->state, DeliveryState::queued);
  EXPECT_THAT(store_->changes.history(claims[0].transaction), SizeIs(1));
}

TEST_P(DeliveryQueueConformance, ReleasesOnlyTheAttemptThatWasClaimed) {
  const auto gifts = gifts_of({1}, 2);
  const auto old_claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(old_claims, SizeIs(2));
  begin("a", old_claims[0], "m", 60'000);
  store_->deliveries.release("b", old_claims);
  EXPECT_THAT(store_->deliveries.claim("c", 60'000, 10, kNow), IsEmpty()) << "of another owner";
  store_->deliveries.release("a", old_claims);
  const auto claims = store_->deliveries.claim("c", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1)) << "the other one is being sent";
  EXPECT_EQ(claims[0].transaction, old_claims[1].transaction);
}

TEST_P(DeliveryQueueConformance, ARepeatedUncertainOutcomeCountsOnce) {
  const TransactionId id = one_gift();
  const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
  begin("a", claims[0], "m", 60'000);
  const DeliveryOutcome uncertain{id, 1, DeliveryState::uncertain, kNow + 900'000, "?", false, std::nullopt};
  EXPECT_EQ(store_->deliveries.finish(std::span(&uncertain, 1), kNow), 1u);
  EXPECT_EQ(store_->deliveries.finish(std::span(&uncertain, 1), kNow), 0u);
  EXPECT_EQ(store_->deliveries.find(id)->uncertain_retries, 1);
}

/// Every start and reload does this: it must not read the mails of ten years.
TEST_P(DeliveryQueueConformance, EndsLeasesWithoutReadingTheMailsThatWereSent) {
  sql("INSERT INTO mail_outbox (transaction_id, state, attempt, next_attempt_at, message_id, "
      "uncertain_retries, "
      "last_reply, updated_at, lease_owner, lease_until) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT "
      "i + 1 "
      "FROM n WHERE i < 20000) SELECT i, 'accepted', 1, 1, '', 0, '', 0, '', 0 FROM n");
  sql("ANALYZE mail_outbox");
  const std::string update =
      ordered_update(dialect(), kMailOutbox, "lease_until = 0", "lease_owner = 'somewhere'");
  const std::string plan = plan_of(update);
  EXPECT_THAT(plan, testing::HasSubstr("mail_outbox_due"));
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN mail_outbox\n|Seq Scan on mail_outbox")));
}

TEST_P(DeliveryQueueConformance, ListsMailsThatEndedLatelyAndThoseThatAreDeferred) {
  insert_mails(1, 5, 0, kNow);
  sql("UPDATE mail_outbox SET state = 'undelivered', updated_at = transaction_id, last_reply = '550 no' "
      "WHERE "
      "transaction_id < 4");
  sql("UPDATE mail_outbox SET first_deferred_at = 7, last_reply = '450 later' WHERE transaction_id = 5");
  const std::vector<FailedMail> found = store_->deliveries.failed_mails({2});
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].since.value, 3);
  EXPECT_EQ(found[1].reply, "550 no");
  EXPECT_EQ(found[2].state, DeliveryState::queued);
  EXPECT_EQ(found[2].reply, "450 later");
  EXPECT_EQ(found[2].since.value, 7);
}

TEST_P(DeliveryQueueConformance, CapsLeasesOfAnyOwner) {
  one_gift();
  ASSERT_THAT(store_->deliveries.claim("dead", 21'600'000, 10, kNow), SizeIs(1));
  store_->deliveries.cap_leases(60'000);
  EXPECT_EQ(leases_beyond_a_minute("mail_outbox"), "0");
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow), IsEmpty()) << "it may be at work still";
}

}  // namespace
}  // namespace giftsync::store
