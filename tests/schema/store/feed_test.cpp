// The feed on each back end: every change is marked, no mark is deleted without its change, and numbers
// become visible in their order.
#include "schema/store/event/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "schema/sql/queries.h"
#include "schema/store/daemon_instances.h"
#include "schema/store/gift/change_rows.h"
#include "schema/store/statements/feed_marks.h"
#include "tests/support/query_plan.h"
#include "tests/support/round_trips.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class FeedTest : public tests::StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    if (IsSkipped()) return;
    store_->keep_feed(true);
    store_->feed.switch_to(true);
  }
  void TearDown() override {
    if (store_) store_->keep_feed(false);
    StoreFixture::TearDown();
  }

  /// One event for each gift, which says how many changes were seen: "2", and has the earliest time of them.
  static std::vector<GiftPublication> count_changes(std::span<const MarkedGift> gifts) {
    std::vector<GiftPublication> made;
    for (const MarkedGift& marked : gifts) {
      FeedEvent event;
      event.type = marked.was_made ? FeedEventType::gift_sent : FeedEventType::gift_updated;
      event.object = marked.gift.transaction.id.value;
      event.account = marked.gift.request.account;
      event.status_after = std::to_string(marked.spans.size());
      event.version = marked.gift.transaction.version;
      for (const ChangeSpan& span : marked.spans)
        event.occurred_at = std::min(event.occurred_at.value_or(span.earliest), span.earliest);
      made.push_back({{event}, PublishedState{}});
    }
    return made;
  }
  PublishRun publish(std::size_t limit = 200) { return store_->feed.publish_gifts(0, limit, count_changes); }
  static StatusChange change(TransactionId gift, Status status) {
    return {{}, "test", gift, status, kSentAt, kSentAt, {}};
  }
  void accept(TransactionId gift, Status status) {
    const StatusChange one = change(gift, status);
    store_->changes.accept(std::span(&one, 1));
  }
  std::vector<FeedEvent> events(std::int64_t after = 0) { return store_->feed.list({}, after, 1'000).events; }
  std::string count(const std::string& rows) { return scalar("SELECT count(*) FROM " + rows); }

  /// Waits until a statement waits for a lock (PostgreSQL), or for the deadline.
  bool is_a_writer_waiting() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      if (scalar("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = "
                 "current_database()") != "0")
        return true;
      std::this_thread::yield();
    }
    return false;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, FeedTest, testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// API-10
TEST_P(FeedTest, AGiftAndItsChangesArePublishedInOrder) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(publish().events, 1u);
  accept(gift, Status::delivered);
  accept(gift, Status::opened);
  EXPECT_EQ(store_->feed.backlog().marks, 1);
  EXPECT_EQ(publish().events, 1u);
  EXPECT_EQ(store_->feed.backlog().marks, 0);
  const std::vector<FeedEvent> all = events();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].type, FeedEventType::gift_sent);
  EXPECT_EQ(all[1].status_after, "2");
  EXPECT_EQ(all[1].seq, all[0].seq + 1);
  EXPECT_GE(all[1].recorded_at, all[0].recorded_at);
  EXPECT_THAT(events(all[0].seq), SizeIs(1));
  EXPECT_EQ(publish().taken, 0u);
}

// API-11: a report that comes late has an event behind those of what happened after it, with its own time.
TEST_P(FeedTest, AnEventKeepsTheTimeOfItsStatus) {
  const TransactionId gift = one_gift();
  publish();
  accept(gift, Status::delivered);
  publish();
  StatusChange late = change(gift, Status::undelivered);
  late.occurred_at = kSentAt - kHourMillis;
  store_->changes.accept(std::span(&late, 1));
  publish();
  sql("INSERT INTO feed_event (seq, type, object_id, record, account_id, status_before, status_after, "
      "version, recorded_at, is_test) VALUES (4, 'gift.opened', 1, '', 1, '', '', 1, 1, 0)");
  sql("UPDATE id_block SET next_id = 5 WHERE name = 'feed_event'");
  for (const std::vector<FeedEvent>& all : {events(), store_->feed.find({1, 2, 3, 4})}) {
    ASSERT_THAT(all, SizeIs(4));
    EXPECT_EQ(all[0].occurred_at, std::nullopt);
    EXPECT_EQ(all[1].occurred_at, kSentAt);
    EXPECT_EQ(all[2].occurred_at, kSentAt - kHourMillis);
    EXPECT_GE(all[2].recorded_at, all[1].recorded_at);
    EXPECT_EQ(all[3].occurred_at, std::nullopt) << "a former version names no such column";
  }
}

// API-13
TEST_P(FeedTest, WithTheFeedOffNothingIsMarked) {
  store_->keep_feed(false);
  const TransactionId gift = one_gift();
  accept(gift, Status::opened);
  EXPECT_EQ(count("feed_queue"), "0");
  EXPECT_EQ(scalar("SELECT published FROM recipient_transaction"), "");
  EXPECT_EQ(publish().taken, 0u);
  EXPECT_THAT(events(), IsEmpty());
}

// API-10: with the feed on a group of requests is as many statements as without it on PostgreSQL.
TEST_P(FeedTest, MarksCostNoRoundTripOfTheirOwn) {
  if (dialect() == sql::Dialect::sqlite) GTEST_SKIP() << "an embedded database has no round trips";
  const auto cost = [&] {
    NewGiftRequest request = request_for(3);
    return tests::RoundTrips::of(address(), [&] { store_->gifts.create(std::span(&request, 1)); });
  };
  cost();  // it allots ids
  store_->keep_feed(false);
  const std::size_t without = cost();
  store_->keep_feed(true);
  EXPECT_EQ(cost(), without);
}

// API-10: the worker takes no mark that a change in progress holds, and sees that change once it is
// committed.
TEST_P(FeedTest, AMarkWithAChangeInProgressIsNotTaken) {
  if (dialect() == sql::Dialect::sqlite) GTEST_SKIP() << "a transaction is alone";
  const TransactionId gift = one_gift();
  const TransactionId other = one_gift();
  publish();
  accept(gift, Status::delivered);
  accept(other, Status::delivered);
  StatusChange late = change(gift, Status::opened);
  late.id = {1'000'000};
  sql::Database::shared(address())->write([&](soci::session& session) {
    accept_changes(session, std::span(&late, 1));
    const PublishRun run = publish();
    EXPECT_EQ(run.taken, 1u);
    EXPECT_EQ(run.last, other.value) << "the other gift's mark is free";
  });
  EXPECT_EQ(publish().events, 1u);
  EXPECT_EQ(events().back().object, gift.value);
  EXPECT_EQ(events().back().status_after, "2");
}

// API-10: a change that meets a mark in the worker's hands makes another one.
TEST_P(FeedTest, AChangeThatCommitsAfterItsMarkWasDeletedIsNotLost) {
  const TransactionId gift = one_gift();
  publish();
  accept(gift, Status::delivered);
  std::thread writer;
  const auto publish_slowly = [&](std::span<const MarkedGift> gifts) {
    if (!writer.joinable()) writer = std::thread([&] { accept(gift, Status::opened); });
    const bool must_wait = dialect() == sql::Dialect::postgresql;  // a transaction of SQLite is alone
    EXPECT_TRUE(!must_wait || is_a_writer_waiting());
    return count_changes(gifts);
  };
  EXPECT_EQ(store_->feed.publish_gifts(0, 200, publish_slowly).events, 1u);
  writer.join();
  EXPECT_EQ(events().back().status_after, "1");
  EXPECT_EQ(publish().events, 1u);
  EXPECT_EQ(events().back().status_after, "2");
}

// API-10: a gift that a request holds waits for the next run, and keeps its mark.
TEST_P(FeedTest, AGiftThatARequestHoldsIsSkipped) {
  if (dialect() == sql::Dialect::sqlite) GTEST_SKIP() << "a transaction is alone";
  const TransactionId gift = one_gift();
  publish();
  accept(gift, Status::delivered);
  const auto publish_new_state = [](std::span<const MarkedGift> gifts) {
    std::vector<GiftPublication> made = count_changes(gifts);
    for (GiftPublication& one : made) one.published = {Status::delivered, 3, 2};
    return made;
  };
  sql::Database::shared(address())->write([&](soci::session& session) {
    session << "SELECT id FROM recipient_transaction FOR UPDATE";
    const PublishRun run = store_->feed.publish_gifts(0, 200, publish_new_state);
    EXPECT_EQ(run.taken, 1u);
    EXPECT_EQ(run.events, 0u);
  });
  EXPECT_EQ(store_->feed.publish_gifts(0, 200, publish_new_state).events, 1u);
  EXPECT_EQ(scalar("SELECT published FROM recipient_transaction"), "delivered 3 2");
}

// API-10: an erasure, which queues some of its gifts for their records too, makes its marks in the order of
// the ids as well: it waits for one without holding a later one.
TEST_P(FeedTest, AnErasureMakesItsMarksInTheOrderOfTheIds) {
  if (dialect() == sql::Dialect::sqlite) GTEST_SKIP() << "a transaction is alone";
  const std::vector<TransactionId> gifts{one_gift(), one_gift()};
  const std::string first = std::to_string(gifts[0].value);
  const std::string second = std::to_string(gifts[1].value);
  sql("INSERT INTO crm_sync_state (transaction_id, state, decided_at, contact_id, account_id, lead_id, "
      "opportunity_id, deal_stage, sender_id, reason, warnings, written_version, error, needs_relink, task) "
      "VALUES (" +
      second + ", 'written', 1, '', '', '', '', '', '', '', '', 1, '', 0, '')");
  std::thread erasing;
  sql::Database::shared(address())->write([&](soci::session& session) {
    session << "UPDATE feed_queue SET reasons = reasons WHERE object_id = " + first;
    if (!erasing.joinable())
      erasing = std::thread([&] { store_->person_traces.erase_gifts(gifts, "erased"); });
    EXPECT_TRUE(is_a_writer_waiting());
    EXPECT_TRUE(sql::has_row(
        session, "(SELECT 1 FROM feed_queue WHERE object_id = " + second + " FOR UPDATE SKIP LOCKED) free"));
  });
  erasing.join();
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction WHERE email = 'erased'"), "2");
}

// API-11: a reader has the texts of a gift's request, too.
TEST_P(FeedTest, AnErasedTextOfARequestIsAChangeOfItsGifts) {
  NewGiftRequest request = request_for(2);
  request.request.reference = "for ada@example.com";
  const CreateOutcome made = store_->gifts.create(std::span(&request, 1)).front();
  publish();
  const PersonText text{"gift_request", "reference", std::to_string(made.request.value),
                        "for ada@example.com"};
  EXPECT_EQ(store_->person_traces.erase_texts(std::span(&text, 1), "ada@example.com", "erased"), 1);
  EXPECT_EQ(count("feed_queue WHERE kind = 1 AND reasons = 4"), "2");
}

// API-10
TEST_P(FeedTest, ARolledBackRunBurnsNoNumber) {
  one_gift();
  EXPECT_THROW(store_->feed.publish_gifts(0, 200,
                                          [](std::span<const MarkedGift>) -> std::vector<GiftPublication> {
                                            throw DependencyError(true, "the log cannot be read");
                                          }),
               DependencyError);
  EXPECT_EQ(store_->feed.state().latest, 0);
  EXPECT_EQ(publish().events, 1u);
  EXPECT_EQ(store_->feed.state().latest, 1);
}

// API-10: random writers in several threads, two workers, and a reader that goes on behind what it has seen.
TEST_P(FeedTest, AReaderMissesNothingOfConcurrentWriters) {
  constexpr int kWriters = 4;
  constexpr int kGifts = 25;
  std::atomic<int> running{kWriters};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; ++writer)
    threads.emplace_back([&] {
      for (int i = 0; i < kGifts; ++i) {
        const TransactionId gift = one_gift();
        for (const Status status : {Status::delivered, Status::opened, Status::redeemed})
          accept(gift, status);
      }
      --running;
    });
  for (int worker = 0; worker < 2; ++worker)
    threads.emplace_back([&] {
      while (publish(7).taken > 0 || running > 0) std::this_thread::yield();
    });
  std::vector<FeedEvent> seen;
  const auto follow = [&] {
    for (const FeedEvent& event : events(seen.empty() ? 0 : seen.back().seq)) seen.push_back(event);
  };
  while (running > 0) follow();
  for (std::thread& thread : threads) thread.join();
  while (publish().taken > 0) {
  }
  follow();
  std::map<std::int64_t, std::string> last;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].seq, static_cast<std::int64_t>(i) + 1) << "a number is missing, or came late";
    last[seen[i].object] = seen[i].status_after;
  }
  EXPECT_THAT(last, SizeIs(kWriters * kGifts));
  for (const auto& [gift, changes] : last) EXPECT_EQ(changes, "3") << "gift " << gift;
}

// API-11
TEST_P(FeedTest, AHeldRequestAndItsEndAreEvents) {
  NewGiftRequest request = request_for(1);
  request.request.account = {7};
  request.hold_reasons = {{"rule", "", "A person has to approve it."}};
  const CreateOutcome held = store_->gifts.create(std::span(&request, 1)).front();
  ASSERT_EQ(held.kind, CreateOutcome::Kind::held);
  EXPECT_EQ(store_->feed.publish_requests(200).events, 1u);
  EXPECT_THAT(store_->held.expire(kSentAt + 365 * kDayMillis), SizeIs(1));
  EXPECT_EQ(store_->feed.publish_requests(200).events, 1u);
  EXPECT_EQ(store_->feed.publish_requests(200).taken, 0u);
  const std::vector<FeedEvent> all = events();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].type, FeedEventType::gift_request_held);
  EXPECT_EQ(all[0].object, held.request.value);
  EXPECT_EQ(all[0].account, AccountId{7});
  EXPECT_EQ(all[1].type, FeedEventType::gift_request_expired);
  EXPECT_EQ(all[1].status_before, "held");
}

// API-11
TEST_P(FeedTest, AMissedRequestIsOneRunWithBothEvents) {
  NewGiftRequest request = request_for(1);
  request.hold_reasons = {{"rule", "", "A person has to approve it."}};
  store_->gifts.create(std::span(&request, 1));
  store_->held.expire(kSentAt + 365 * kDayMillis);
  EXPECT_EQ(store_->feed.publish_requests(200).events, 2u);
}

// API-12
TEST_P(FeedTest, AnEpochBeginsWhenTheFeedIsSwitchedOnAgainAndAfterARestore) {
  one_gift();
  publish();
  const FeedState first = store_->feed.state();
  EXPECT_TRUE(first.is_on);
  EXPECT_FALSE(store_->feed.switch_to(true)) << "it is on";
  EXPECT_TRUE(first.is_place(first.epoch, 1));
  EXPECT_TRUE(first.is_place(first.epoch, 0));
  EXPECT_FALSE(first.is_place(first.epoch, 2)) << "no event has this number";
  EXPECT_FALSE(store_->feed.switch_to(false));
  EXPECT_TRUE(store_->feed.switch_to(true));
  const FeedState second = store_->feed.state();
  EXPECT_GT(second.epoch, first.epoch);
  EXPECT_EQ(second.first, 2);
  EXPECT_FALSE(second.is_place(first.epoch, 1));
  EXPECT_TRUE(second.is_place(second.epoch, 1)) << "the place before its first event";
  EXPECT_FALSE(second.is_place(second.epoch, 0)) << "of the epoch before";
  EXPECT_TRUE(store_->feed.begin_epoch());
  EXPECT_GT(store_->feed.state().epoch, second.epoch);
}

// API-12: a daemon whose feed is off may end before it notices that another one has it on, and leave changes
// without marks: who began to read before that begins again.
TEST_P(FeedTest, AnEpochThatBeganBesideAnotherDaemonBeginsOnceMore) {
  one_gift();
  publish();
  store_->feed.switch_to(false);
  DaemonInstance other;
  other.id = "other";
  DaemonInstances(address()).save(other);
  EXPECT_TRUE(store_->feed.switch_to(true));
  const FeedState begun = store_->feed.state();
  EXPECT_TRUE(begun.is_on);
  EXPECT_FALSE(store_->feed.switch_to(true)) << "the other daemon has a minute to notice";
  const auto wait_a_minute = [&] {
    const FeedState now = store_->feed.state();
    sql("UPDATE store_metadata SET value = replace(value, ' " + std::to_string(now.began_at.value) +
        "', ' 1000') WHERE name = 'feed'");
  };
  one_gift();
  publish();
  wait_a_minute();
  EXPECT_TRUE(store_->feed.switch_to(true));
  const FeedState again = store_->feed.state();
  EXPECT_GT(again.epoch, begun.epoch);
  EXPECT_FALSE(again.is_place(begun.epoch, begun.latest));
  EXPECT_EQ(again.first, begun.first) << "an endpoint of webhooks passes no event";
  EXPECT_EQ(again.latest, again.first);
  wait_a_minute();
  EXPECT_FALSE(store_->feed.switch_to(true)) << "once";
}

// API-12
TEST_P(FeedTest, WhatIsNotKeptIsNoPlace) {
  one_gift();
  publish();
  one_gift();
  publish();
  sql("UPDATE feed_event SET recorded_at = 5 WHERE seq = 1");
  EXPECT_EQ(store_->feed.place_of({5}), 0);
  EXPECT_EQ(store_->feed.place_of({6}), 1);
  EXPECT_EQ(store_->feed.place_of(kSentAt + 100 * 365 * kDayMillis), 2);
  EXPECT_EQ(store_->feed.prune({6}), 1);
  const FeedState state = store_->feed.state();
  EXPECT_EQ(state.oldest, 2);
  EXPECT_FALSE(state.is_place(state.epoch, 0));
  EXPECT_TRUE(state.is_place(state.epoch, 1));
}

// API-12
TEST_P(FeedTest, AReaderSeesWhatItsFilterSays) {
  const auto insert = [&](int seq, const char* type, int account, const char* organization, int test) {
    sql("INSERT INTO feed_event (seq, type, object_id, record, account_id, organization_id, status_before, "
        "status_after, version, recorded_at, is_test) VALUES (" +
        std::to_string(seq) + ", '" + type + "', 1, '', " + std::to_string(account) + ", " + organization +
        ", '', '', 1, 1, " + std::to_string(test) + ")");
  };
  sql("INSERT INTO organization (id, name, name_key, created_at) VALUES (9, 'Acme', 'acme', 1)");
  sql("INSERT INTO account (id, email, email_key, name, plan, active, organization_id, created_at) VALUES "
      "(1, "
      "'a@example.com', 'a@example.com', 'A', 'team', 1, 9, 1)");
  insert(1, "gift.sent", 1, "9", 0);
  insert(2, "gift.opened", 2, "9", 0);
  insert(3, "gift.opened", 1, "NULL", 0);
  insert(4, "gift.opened", 1, "9", 1);
  sql("UPDATE id_block SET next_id = 5 WHERE name = 'feed_event'");
  const auto seqs = [&](const FeedFilter& filter, std::size_t limit = 10) {
    std::vector<std::int64_t> found;
    for (const FeedEvent& event : store_->feed.list(filter, 0, limit).events) found.push_back(event.seq);
    return found;
  };
  EXPECT_THAT(seqs({}), ElementsAre(1, 2, 3));
  EXPECT_THAT(seqs({.account = AccountId{1}}), ElementsAre(1, 3));
  EXPECT_THAT(seqs({.organization = OrganizationId{9}}), ElementsAre(1, 3)) << "of its present accounts";
  EXPECT_THAT(seqs({.is_test = true}), ElementsAre(4));
  EXPECT_THAT(seqs({.types = {FeedEventType::gift_opened}}), ElementsAre(2, 3));
  EXPECT_THAT(seqs({}, 2), ElementsAre(1, 2));
  const FeedPage part = store_->feed.list({}, 0, 2);
  EXPECT_EQ(part.last, 2);
  EXPECT_TRUE(part.has_more);
  const FeedPage none = store_->feed.list({.account = AccountId{5}}, 0, 2);
  EXPECT_EQ(none.last, 4) << "a reader goes on behind what is not for it";
  EXPECT_FALSE(none.has_more);
  EXPECT_THAT(store_->feed.find({3, 1, 77}), SizeIs(2));
}

// API-4
TEST_P(FeedTest, ChangedGiftsAreListedOnceInTheOrderOfTheirLastChange) {
  const TransactionId first = one_gift();
  const TransactionId second = one_gift();
  publish();
  const std::int64_t place = store_->feed.state().latest;
  accept(first, Status::delivered);
  publish();
  accept(second, Status::delivered);
  publish();
  accept(first, Status::opened);
  publish();
  const ChangedGifts changed = store_->feed.list_changed({}, place, 10);
  EXPECT_THAT(changed.gifts, ElementsAre(second, first));
  EXPECT_EQ(changed.last, store_->feed.state().latest);
  EXPECT_FALSE(changed.has_more);
  EXPECT_THAT(store_->feed.list_changed({}, changed.last, 10).gifts, IsEmpty());
  const ChangedGifts one = store_->feed.list_changed({}, 0, 1);
  EXPECT_THAT(one.gifts, ElementsAre(second));
  EXPECT_TRUE(one.has_more);
  EXPECT_THAT(store_->feed.list_changed({}, one.last, 1).gifts, ElementsAre(first));
  EXPECT_THAT(store_->feed.list_changed({.account = AccountId{99}}, 0, 10).gifts, IsEmpty());
}

// API-12
TEST_P(FeedTest, ReadingUsesIndexes) {
  const auto plan = [&](const std::string& select) { return tests::plan_of(*plain_sql_, select); };
  EXPECT_THAT(
      plan("SELECT object_id FROM feed_queue WHERE kind = 1 AND object_id > 5 ORDER BY object_id LIMIT 200"),
      testing::AnyOf(testing::HasSubstr("feed_queue_pkey"), testing::HasSubstr("PRIMARY KEY")));
  EXPECT_THAT(plan("SELECT seq FROM feed_event WHERE recorded_at >= 5 ORDER BY recorded_at, seq LIMIT 1"),
              testing::HasSubstr("feed_event_age"));
  EXPECT_THAT(
      plan(
          "SELECT seq FROM feed_event WHERE seq > 5 AND seq <= 5005 AND NOT EXISTS (SELECT 1 FROM feed_event "
          "later WHERE later.object_id = feed_event.object_id AND later.seq > feed_event.seq AND "
          "later.version > 0) ORDER BY seq LIMIT 100"),
      testing::HasSubstr("feed_event_object"));
  EXPECT_THAT(
      plan("SELECT type FROM feed_event WHERE seq > 5 AND seq <= 5005 AND is_test = 0 AND account_id = 1 "
           "ORDER BY seq LIMIT 100"),
      testing::AnyOf(testing::HasSubstr("feed_event_pkey"), testing::HasSubstr("PRIMARY KEY")));
}

// API-11
TEST(PublishedStates, AreReadAsTheyWereWritten) {
  const PublishedState state{Status::opened, 13, 4};
  EXPECT_EQ(to_text(state), "opened 13 4");
  EXPECT_EQ(to_text(PublishedState{}), kPublishedOfMade);
  EXPECT_EQ(published_state_from("opened 13 4"), state);
  EXPECT_EQ(published_state_from(""), std::nullopt);
  EXPECT_EQ(published_state_from("opened"), std::nullopt);
  EXPECT_EQ(published_state_from("lost 1 1"), std::nullopt);
  EXPECT_TRUE(state.has(Status::sent));
  EXPECT_FALSE(state.has(Status::delivered));
}

// API-12
TEST(FeedEventTypes, AreNamedOneByOneOrByTheirKind) {
  EXPECT_THAT(feed_event_types_of("gift.opened"), ElementsAre(FeedEventType::gift_opened));
  EXPECT_THAT(feed_event_types_of("gift.*"), SizeIs(9));
  EXPECT_THAT(feed_event_types_of("gift_request.*"), SizeIs(4));
  for (const char* wrong :
       {"", "gift", "gift.", "gift.open", "*", ".*", "Gift.opened", "credential.*", "budget.reached"})
    EXPECT_THAT(feed_event_types_of(wrong), IsEmpty()) << wrong;
}

}  // namespace
}  // namespace giftsync::store
