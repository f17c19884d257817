// One transaction for gift requests, messages and decisions: each member has its own outcome, as if it were
// written alone.
#include "schema/store/crm/urgent_writes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <soci/soci.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "schema/store/gift/gift_rows.h"
#include "tests/schema/store/sources_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

constexpr GiftId kCoffee{7};

bool never_again() {
  return false;
}

class UrgentWritesTest : public SourcesFixture {
 protected:
  static InboundBatch message(std::vector<InboundItem> items, const std::string& id = "",
                              const std::string& source = "vendor") {
    InboundBatch batch = report();
    batch.source = source;
    batch.items = std::move(items);
    if (!id.empty()) batch.message_id = id;
    return batch;
  }
  static Decision decision(TransactionId gift, Status status, TransactionEffect effect = {}) {
    return {{{}, "page", gift, status, kNow + 5, kNow + 5, {}},
            [](UtcMillis, std::span<const ChangeSpan> so_far) { return so_far.empty(); },
            std::move(effect)};
  }
  static Decision first_redemption(TransactionId gift) {
    return {{{}, "page", gift, Status::redeemed, kNow + 5, kNow + 5, {}},
            [](UtcMillis, std::span<const ChangeSpan> so_far) {
              return std::none_of(so_far.begin(), so_far.end(),
                                  [](const ChangeSpan& span) { return span.status == Status::redeemed; });
            },
            {}};
  }
  GroupOutcomes write(const WriteGroup& group) { return store_->urgent_writes.write(group, never_again); }
  std::size_t history_size(TransactionId id) { return store_->changes.history(id).size(); }
  SourceSummary summary(const std::string& source) {
    for (const SourceSummary& one : sources().list()) {
      if (one.name == source) return one;
    }
    return {};
  }
  static const IngestResult& result_of(const Written<IngestResult>& written) {
    EXPECT_FALSE(written.fault);
    return written.outcome;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, UrgentWritesTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// ARCH-22
TEST_P(UrgentWritesTest, WritesAMixedGroupInOneTransaction) {
  const TransactionId reported = own_gift();
  const TransactionId decided = own_gift();
  WriteGroup group;
  group.gift_requests = {request_for(2)};
  group.messages = {message({change(reported, Status::opened)}, "m1")};
  group.decisions = {decision(decided, Status::redeemed)};
  // Seen by the decision, so both are in its transaction.
  std::string requests_seen;
  group.decisions.front().effect = TransactionEffect([&](soci::session& session) {
    session << "SELECT cast(count(*) AS TEXT) FROM gift_request", soci::into(requests_seen);
    return true;
  });
  const GroupOutcomes outcomes = write(group);
  ASSERT_THAT(outcomes.gift_requests, SizeIs(1));
  EXPECT_EQ(outcomes.gift_requests[0].outcome.kind, CreateOutcome::Kind::created);
  EXPECT_EQ(requests_seen, "3");
  ASSERT_THAT(outcomes.messages, SizeIs(1));
  EXPECT_EQ(result_of(outcomes.messages[0]).accepted, 1u);
  ASSERT_THAT(outcomes.decisions, SizeIs(1));
  EXPECT_EQ(outcomes.decisions[0].outcome, ConditionalOutcome::accepted);
  EXPECT_EQ(history_size(reported), 1u);
  EXPECT_EQ(history_size(decided), 1u);
}

// ARCH-23
TEST_P(UrgentWritesTest, AMemberThatTheDatabaseRefusesFailsAlone) {
  const TransactionId reported = own_gift();
  const TransactionId good = own_gift();
  const TransactionId bad = own_gift();
  WriteGroup group;
  group.gift_requests = {request_for(1)};
  group.messages = {message({change(reported, Status::opened)}, "m1"), message({quarantined("odd")}, "m2")};
  group.decisions = {decision(good, Status::redeemed),
                     decision(bad, Status::redeemed, [](soci::session& session) {
                       session << "INSERT INTO no_such_table (id) VALUES (1)";
                       return true;
                     })};
  const GroupOutcomes outcomes = write(group);
  EXPECT_EQ(outcomes.gift_requests[0].outcome.kind, CreateOutcome::Kind::created);
  EXPECT_EQ(result_of(outcomes.messages[0]).accepted, 1u);
  EXPECT_EQ(result_of(outcomes.messages[1]).quarantined, 1u);
  EXPECT_EQ(outcomes.decisions[0].outcome, ConditionalOutcome::accepted);
  EXPECT_THROW(Written<ConditionalOutcome>(outcomes.decisions[1]).value(), DependencyError);
  EXPECT_EQ(history_size(bad), 0u);
  EXPECT_EQ(history_size(good), 1u);
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM gift_request"), "4");
}

// ARCH-23
TEST_P(UrgentWritesTest, MembersOfARefusedGroupAreNotTriedWhileTheStoreIsAway) {
  const TransactionId first = own_gift();
  const TransactionId second = own_gift();
  int tries_of_first = 0;
  int tries_of_second = 0;
  WriteGroup group;
  group.messages = {message({change(first, Status::opened)}, "m1")};
  group.decisions = {decision(first, Status::redeemed,
                              [&](soci::session& session) {
                                if (++tries_of_first > 1) throw DependencyError(true, "the database is busy");
                                session << "INSERT INTO no_such_table (id) VALUES (1)";
                                return true;
                              }),
                     decision(second, Status::redeemed, [&](soci::session&) {
                       ++tries_of_second;
                       return true;
                     })};
  group.decisions.front().condition = [](UtcMillis, std::span<const ChangeSpan>) { return true; };
  const GroupOutcomes outcomes = write(group);
  EXPECT_EQ(result_of(outcomes.messages[0]).accepted, 1u) << "written before";
  EXPECT_EQ(tries_of_first, 2) << "in the group and alone";
  EXPECT_EQ(tries_of_second, 0);
  for (const auto& written : outcomes.decisions)
    EXPECT_THROW(Written<ConditionalOutcome>(written).value(), DependencyError);
  EXPECT_EQ(history_size(second), 0u);
}

TEST_P(UrgentWritesTest, DecisionsOfAGroupTakeTheCodesOneByOne) {
  const std::vector<std::string> codes{"A"};
  store_->codes.import(kCoffee, codes, kNow);
  const TransactionId first = own_gift();
  const TransactionId second = own_gift();
  WriteGroup group;
  for (const TransactionId gift : {first, second, first})
    group.decisions.push_back(
        decision(gift, Status::redeemed, store_->codes.assign_code(kCoffee, gift, kNow)));
  group.messages = {message({change(second, Status::opened)})};
  const GroupOutcomes outcomes = write(group);
  EXPECT_EQ(outcomes.decisions[0].outcome, ConditionalOutcome::accepted);
  // Its message comes first and its condition refuses it; without the message no code would be left.
  EXPECT_EQ(outcomes.decisions[1].outcome, ConditionalOutcome::refused);
  EXPECT_EQ(outcomes.decisions[2].outcome, ConditionalOutcome::refused)
      << "decided by the first of the group";
  EXPECT_EQ(store_->codes.find_code(first), "A");

  const TransactionId third = own_gift();
  WriteGroup later;
  later.decisions = {decision(third, Status::redeemed, store_->codes.assign_code(kCoffee, third, kNow))};
  later.messages = {message({change(first, Status::opened)})};
  const GroupOutcomes without_code = write(later);
  EXPECT_EQ(without_code.decisions[0].outcome, ConditionalOutcome::effect_unavailable);
  EXPECT_EQ(history_size(third), 0u);
  EXPECT_EQ(result_of(without_code.messages[0]).accepted, 1u) << "the savepoint undoes the decision alone";
}

// SRC-26
TEST_P(UrgentWritesTest, AMessageIsStoredOnceInAGroupToo) {
  const TransactionId gift = own_gift();
  write({{}, {message({change(gift, Status::opened)}, "known")}, {}});
  WriteGroup group;
  group.messages = {message({change(gift, Status::opened)}, "known"),
                    message({change(gift, Status::redeemed, 1)}, "new"),
                    message({change(gift, Status::redeemed, 1)}, "new"),
                    message({change(gift, Status::redeemed, 1)}, "same change"),
                    message({change(gift, Status::redeemed, 1)}, "new", "other"),
                    message({}, "without a change")};
  const GroupOutcomes outcomes = write(group);
  EXPECT_EQ(result_of(outcomes.messages[0]).kind, IngestResult::Kind::replayed);
  EXPECT_EQ(result_of(outcomes.messages[1]).accepted, 1u);
  EXPECT_EQ(result_of(outcomes.messages[2]).kind, IngestResult::Kind::replayed);
  EXPECT_EQ(result_of(outcomes.messages[3]).duplicates, 1u);
  EXPECT_EQ(result_of(outcomes.messages[4]).accepted, 1u) << "message ids are their source's own";
  EXPECT_EQ(result_of(outcomes.messages[5]).kind, IngestResult::Kind::stored);
  EXPECT_EQ(history_size(gift), 3u);
  EXPECT_EQ(summary("vendor").accepted, 2);
  EXPECT_EQ(summary("vendor").duplicates, 1);
  EXPECT_EQ(summary("other").accepted, 1);
  EXPECT_EQ(summary("vendor").last_received_at, kNow);
}

// SRC-12
TEST_P(UrgentWritesTest, MessagesOfOtherKindsAreStoredAsIfAlone) {
  const TransactionId gift = own_gift();
  const TransactionId unknown{9'000'001};
  WriteGroup group;
  group.messages = {message({change(unknown, Status::opened)}, "orphan"),
                    message({quarantined("odd"), change(gift, Status::opened)}, "mixed"),
                    message({change(gift, Status::redeemed)}, "plain")};
  const GroupOutcomes outcomes = write(group);
  EXPECT_EQ(result_of(outcomes.messages[0]).orphaned, 1u);
  EXPECT_EQ(result_of(outcomes.messages[1]).quarantined, 1u);
  EXPECT_EQ(result_of(outcomes.messages[1]).accepted, 1u);
  EXPECT_EQ(result_of(outcomes.messages[2]).accepted, 1u);
  EXPECT_EQ(store_->changes.count_orphaned(), 1);
  EXPECT_EQ(history_size(gift), 2u);
}

// SRC-63
TEST_P(UrgentWritesTest, TheIgnoredEventsOfAGroupAreStoredTogether) {
  const TransactionId gift = own_gift();
  const auto with_ignored = [](InboundBatch batch, const std::string& word) {
    batch.ignored = {ignored(word)};
    return batch;
  };
  fill_quarantine(kMaxQuarantined);
  WriteGroup group;
  group.messages = {with_ignored(message({change(gift, Status::opened)}, "plain"), "b"),
                    with_ignored(message({}, "no change"), "a"),
                    with_ignored(message({}, "same event"), "a"),
                    with_ignored(message({change({9'000'001}, Status::opened)}, "orphan"), "c"),
                    with_ignored(message({quarantined("odd")}, "over"), "d"),
                    with_ignored(message({}, "m6", "other"), "a")};
  const GroupOutcomes outcomes = write(group);
  EXPECT_EQ(result_of(outcomes.messages[0]).accepted, 1u);
  EXPECT_EQ(result_of(outcomes.messages[4]).kind, IngestResult::Kind::over_limit);
  EXPECT_THAT(ignored_words(), testing::UnorderedElementsAre("a", "b", "c"))
      << "none of a message that was not stored";
  EXPECT_THAT(ignored_words("other"), ElementsAre("a"));
  EXPECT_EQ(summary("vendor").ignored, 4);
  EXPECT_EQ(write(group).messages[0].outcome.kind, IngestResult::Kind::replayed);
  EXPECT_EQ(summary("vendor").ignored, 4) << "a replayed message adds none";
}

TEST_P(UrgentWritesTest, AMessageOverTheLimitOfItsSourceChangesNothing) {
  fill_quarantine(kMaxQuarantined);
  const TransactionId gift = own_gift();
  WriteGroup group;
  group.messages = {message({quarantined("odd"), change(gift, Status::redeemed)}, "over"),
                    message({change(gift, Status::opened)}, "plain")};
  GroupOutcomes outcomes = write(group);
  EXPECT_EQ(result_of(outcomes.messages[0]).kind, IngestResult::Kind::over_limit);
  EXPECT_EQ(result_of(outcomes.messages[1]).accepted, 1u);
  EXPECT_EQ(history_size(gift), 1u);
  sources().purge_quarantined("vendor", std::nullopt);
  outcomes = write({{}, {group.messages[0]}, {}});
  EXPECT_EQ(result_of(outcomes.messages[0]).kind, IngestResult::Kind::stored) << "its id was not stored";
}

// ARCH-40
TEST_P(UrgentWritesTest, GroupsThatCreateTheSameGiftsWaitForEachOtherInTheOrderOfTheirIds) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "it has one writer";
  constexpr TransactionId kLow{9'000'000'003};
  constexpr TransactionId kHigh{9'000'000'009};
  const auto creating = [](TransactionId id, const std::string& message_id) {
    InboundBatch batch = message({external_gift(id)}, message_id);
    batch.gift_source = "vendor";
    return batch;
  };
  Store other(address());
  GroupOutcomes outcomes;
  std::jthread writing;
  sql::Database creator(address());
  creator.write([&](soci::session& session) {
    lock_new_gifts(session, {kLow.value});
    writing = std::jthread([&] {
      outcomes =
          other.urgent_writes.write({{}, {creating(kHigh, "m1"), creating(kLow, "m2")}, {}}, never_again);
    });
    const std::string waiting =
        "SELECT cast(count(*) AS TEXT) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    sql::Database watching(address());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (tests::scalar(watching, waiting) == "0" && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_NE(tests::scalar(watching, waiting), "0") << "it does not wait for the gifts of the other one";
    session << "SET LOCAL lock_timeout TO 1000";
    EXPECT_NO_THROW(lock_new_gifts(session, {kHigh.value})) << "its first message comes before the waiting";
  });
  writing.join();
  ASSERT_THAT(outcomes.messages, SizeIs(2));
  for (const auto& written : outcomes.messages) EXPECT_EQ(result_of(written).gifts, 1u);
}

// ARCH-40
TEST_P(UrgentWritesTest, GroupsOfTwoDaemonsDoNotDeadlock) {
  if (GetParam() == sql::Dialect::sqlite) GTEST_SKIP() << "it has one writer";
  std::vector<TransactionId> gifts;
  for (int i = 0; i < 20; ++i) gifts.push_back(own_gift());
  Store other(address());
  const auto write_groups = [&](Store& store, std::vector<TransactionId> order, const std::string& name) {
    for (int i = 0; i < 15; ++i) {
      WriteGroup group;
      for (std::size_t at = 0; at < order.size(); ++at) {
        group.messages.push_back(message({change(order[at], Status::opened, i * 100)},
                                         "m" + std::to_string(i) + "/" + std::to_string(order[at].value)));
        if (at % 2 == 0) group.decisions.push_back(first_redemption(order[at]));
      }
      for (const auto& written : store.urgent_writes.write(group, never_again).messages)
        EXPECT_FALSE(written.fault) << name;
    }
  };
  {
    const std::vector<TransactionId> reversed(gifts.rbegin(), gifts.rend());
    const std::jthread first([&] { write_groups(*store_, gifts, "first"); });
    const std::jthread second([&] { write_groups(other, reversed, "second"); });
  }
  EXPECT_EQ(scalar("SELECT cast(deadlocks AS TEXT) FROM pg_stat_database WHERE datname = current_database()"),
            "0");
  for (const TransactionId gift : gifts)
    EXPECT_EQ(history_size(gift), 16u) << "each message and decision once";
}

}  // namespace
}  // namespace giftsync::store
