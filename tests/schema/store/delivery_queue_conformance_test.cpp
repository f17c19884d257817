// The mail outbox over every back end: a mail is claimed under a lease, marked before it is sent, and its
// outcome recorded once (MAIL-5).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "schema/store/leases.h"
#include "tests/support/store_fixture.h"

namespace giftsync::schema::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class DeliveryQueueConformance : public tests::StoreFixture {
 protected:
  static constexpr platform::UtcMillis kNow = kSentAt;

  bool begin(const std::string& owner, const DeliveryClaim& claim, const std::string& message_id,
             std::int64_t lease_millis) {
    const DeliveryQueue::Sending sending{claim, message_id};
    return store_->deliveries.begin_sending(owner, std::span(&sending, 1), lease_millis, kNow).front();
  }
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
  EXPECT_FALSE(store_->deliveries.breaker());
  store_->deliveries.open_breaker({kNow, kNow + 5000, 1, "no route"});
  store_->deliveries.open_breaker({kNow + 9, kNow + 9000, 2, "wrong password"});
  const auto pause = store_->deliveries.breaker();
  ASSERT_TRUE(pause);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->until, kNow + 9000);
  EXPECT_EQ(pause->failures, 2);
  store_->deliveries.close_breaker();
  EXPECT_FALSE(store_->deliveries.breaker());
}

// MAIL-25
TEST_P(DeliveryQueueConformance, APauseNamesItsRelayAndBeginsAgainWithAnother) {
  store_->deliveries.open_breaker({kNow, kNow + 5000, 1, "no route", "old"});
  store_->deliveries.open_breaker({kNow + 9, kNow + 9000, 2, "no route", "old"});
  EXPECT_EQ(store_->deliveries.breaker()->relay, "old");
  EXPECT_EQ(store_->deliveries.breaker()->since, kNow);
  store_->deliveries.open_breaker({kNow + 20, kNow + 5020, 1, "no route", "new"});
  EXPECT_EQ(store_->deliveries.breaker()->relay, "new");
  EXPECT_EQ(store_->deliveries.breaker()->since, kNow + 20);
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
  const platform::UtcMillis later = kNow + 5;
  EXPECT_EQ(store_->deliveries.retry_deferred(first, later), 1);
  EXPECT_EQ(store_->deliveries.retry_deferred(first, later), 0) << "it is due already";
  EXPECT_EQ(store_->deliveries.retry_deferred(uncertain, later), 0) << "it might arrive twice";
  EXPECT_EQ(store_->deliveries.find(first)->next_attempt_at, later);
  EXPECT_EQ(store_->deliveries.find(second)->next_attempt_at, kNow + 60'000);
  EXPECT_EQ(store_->deliveries.retry_deferred(std::nullopt, later), 1);
  EXPECT_EQ(store_->deliveries.find(second)->next_attempt_at, later);
  EXPECT_EQ(store_->deliveries.find(uncertain)->next_attempt_at, kNow + 60'000);
}

TEST_P(DeliveryQueueConformance, ResetsOnlyRowsScheduledAfterATime) {
  const auto put_off = [&](platform::UtcMillis now, platform::UtcMillis due) {
    const TransactionId id = one_gift();
    const auto claims = store_->deliveries.claim("a", 60'000, 10, kNow);
    begin("a", claims.at(0), "m", 60'000);
    const DeliveryOutcome later{id, 1, DeliveryState::queued, due, "450", true, std::nullopt};
    store_->deliveries.finish(std::span(&later, 1), now);
    return id;
  };
  const platform::UtcMillis latest = kNow + platform::kHourMillis;
  const TransactionId waiting = put_off(kNow, latest);
  EXPECT_EQ(store_->deliveries.reset_scheduled_after(latest, kNow), 0);
  const TransactionId early = put_off(kNow - 7, latest + 1);
  const TransactionId late = put_off(latest, latest + platform::kHourMillis);
  EXPECT_EQ(store_->deliveries.reset_scheduled_after(latest, kNow), 2);
  EXPECT_EQ(store_->deliveries.find(waiting)->next_attempt_at, latest);
  std::map<TransactionId, std::optional<platform::UtcMillis>> first_tries;
  for (const DeliveryClaim& claim : store_->deliveries.claim("a", 60'000, 10, kNow))
    first_tries[claim.transaction] = claim.first_deferred_at;
  ASSERT_THAT(first_tries, SizeIs(2));
  EXPECT_EQ(first_tries.at(early), kNow - 7);
  EXPECT_EQ(first_tries.at(late), kNow) << "or it would be given up that much later";
}

TEST_P(DeliveryQueueConformance, ResetsOnlyABreakerOpenPastATime) {
  EXPECT_FALSE(store_->deliveries.reset_breaker_after(kNow, kNow));
  store_->deliveries.open_breaker({kNow + 9, kNow + 300'000, 7, "no route"});
  EXPECT_FALSE(store_->deliveries.reset_breaker_after(kNow + 300'000, kNow));
  EXPECT_TRUE(store_->deliveries.reset_breaker_after(kNow + 299'999, kNow));
  const auto pause = store_->deliveries.breaker();
  ASSERT_TRUE(pause) << "one mail shows whether the transport is well again";
  EXPECT_EQ(pause->until, kNow);
  EXPECT_EQ(pause->since, kNow);
  EXPECT_EQ(pause->failures, 7);
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
  sql::Database database(address());
  const std::string plan = database.read([&](soci::session& session) {
    const bool is_sqlite = dialect() == sql::Dialect::sqlite;
    std::string text;
    const soci::rowset<soci::row> rows = session.prepare
                                         << (is_sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + update;
    for (const soci::row& row : rows) text += row.get<std::string>(is_sqlite ? 3 : 0) + "\n";
    return text;
  });
  EXPECT_THAT(plan, testing::HasSubstr("mail_outbox_due"));
  EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("SCAN mail_outbox\n|Seq Scan on mail_outbox")));
}

TEST_P(DeliveryQueueConformance, CapsLeasesOfAnyOwner) {
  one_gift();
  ASSERT_THAT(store_->deliveries.claim("dead", 21'600'000, 10, kNow), SizeIs(1));
  store_->deliveries.cap_leases(60'000);
  EXPECT_EQ(leases_beyond_a_minute("mail_outbox"), "0");
  EXPECT_THAT(store_->deliveries.claim("b", 60'000, 10, kNow), IsEmpty()) << "it may be at work still";
}

}  // namespace
}  // namespace giftsync::schema::store
