// Ingest from sources, over every back end: one transaction per message or page, whatever happens.
#include "schema/store/event/sources.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>

#include "schema/sql/database.h"
#include "tests/schema/store/sources_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Kind = IngestResult::Kind;

class SourcesConformance : public SourcesFixture {};

INSTANTIATE_TEST_SUITE_P(BackEnds, SourcesConformance,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(SourcesConformance, StoresAMessageIdOnce) {
  const TransactionId id = own_gift();
  InboundBatch message = report();
  message.items = {change(id, Status::opened), change(id, Status::opened), quarantined("strange")};
  message.ignored = {ignored("ping"), ignored("pong")};
  message.message_id = "msg_1";
  const IngestResult first = sources().accept(message);
  EXPECT_EQ(first.kind, Kind::stored);
  EXPECT_EQ(first.accepted, 1u);
  EXPECT_EQ(first.duplicates, 1u);
  EXPECT_EQ(first.quarantined, 1u);
  EXPECT_EQ(sources().accept(message).kind, Kind::replayed);
  message.source = "other";
  EXPECT_EQ(sources().accept(message).kind, Kind::stored) << "each source has ids of its own";

  const SourceSummary row = source_summary();
  EXPECT_EQ(row.accepted, 1);
  EXPECT_EQ(row.duplicates, 1);
  EXPECT_EQ(row.ignored, 2);
  EXPECT_EQ(row.quarantined, 1);
  EXPECT_EQ(row.last_received_at, kNow);
  const auto history = store().changes.history(id);
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_EQ(history[0].source, "other");
  EXPECT_EQ(history[1].source, "vendor");

  sources().prune_messages(kNow + 1);
  message.source = "vendor";
  EXPECT_EQ(sources().accept(message).kind, Kind::stored)
      << "a forgotten id is taken again, and changes nothing";
  EXPECT_THAT(store().changes.history(id), SizeIs(2));
}

TEST_P(SourcesConformance, ConcurrentMessagesCreateTheirCommonGiftsOnce) {
  constexpr std::int64_t kGifts = 60;
  constexpr std::size_t kMessages = 6;
  std::vector<IngestResult> results(kMessages);
  {
    std::vector<std::jthread> threads;
    for (std::size_t n = 0; n < kMessages; ++n) {
      threads.emplace_back([&, n] {
        InboundBatch page = report("vendor");
        for (std::int64_t i = 0; i < kGifts; ++i) page.items.push_back(external_gift({9'000'000'001 + i}));
        // Each in another order, with a gift of its own in the middle.
        std::rotate(page.items.begin(), page.items.begin() + static_cast<std::ptrdiff_t>(n * 9),
                    page.items.end());
        if (n % 2 == 0) std::reverse(page.items.begin(), page.items.end());
        page.items.insert(page.items.begin() + kGifts / 2,
                          external_gift({9'100'000'000 + static_cast<std::int64_t>(n)}));
        results[n] = sources().accept(page);
      });
    }
  }
  std::size_t gifts = 0;
  for (const IngestResult& result : results) {
    EXPECT_EQ(result.kind, Kind::stored);
    EXPECT_EQ(result.accepted + result.duplicates, static_cast<std::size_t>(kGifts) + 1);
    gifts += result.gifts;
  }
  EXPECT_EQ(gifts, static_cast<std::size_t>(kGifts) + kMessages);
  EXPECT_EQ(source_summary().gifts, kGifts + static_cast<std::int64_t>(kMessages));
}

TEST_P(SourcesConformance, CreatesAnExternalGiftOnce) {
  const TransactionId id{9'000'000'001};
  InboundBatch page = report("vendor");
  page.items = {external_gift(id), external_gift(id), change(id, Status::opened, 5)};
  const IngestResult receipt = sources().accept(page);
  EXPECT_EQ(receipt.gifts, 1u);
  EXPECT_EQ(receipt.accepted, 2u);
  EXPECT_EQ(sources().accept(page).gifts, 0u);
  const auto batch = gift(id);
  ASSERT_TRUE(batch);
  EXPECT_EQ(batch->transaction.gift_source, "vendor");
  EXPECT_EQ(batch->transaction.phone, "+1 650 867 3450");
  EXPECT_EQ(batch->request.mode, SendMode::external);
  EXPECT_EQ(batch->request.gift, GiftId{42});
  EXPECT_EQ(batch->request.costs.shipping, Money{495});
  EXPECT_EQ(batch->request.sender_email, "rose@example.com");
  EXPECT_EQ(batch->transaction.times[Status::sent], kNow);
  EXPECT_FALSE(store().deliveries.find(id)) << "no mail is sent";
  const auto claims = store().sync.claim("one", 1000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims.front().transaction, id);
  EXPECT_EQ(source_summary().gifts, 1);
}

TEST_P(SourcesConformance, ASentChangeBesideAChangeIsNotCounted) {
  const TransactionId id{9'000'000'001};
  InboundBatch page = report("vendor");
  page.items = {external_gift(id), change(id, Status::opened)};
  page.items.back().sent = page.items.front().change;
  page.items.back().sent->occurred_at = kNow - 5;
  EXPECT_EQ(sources().accept(page).accepted, 2u);
  const auto again = sources().accept(page);
  EXPECT_EQ(again.accepted, 0u);
  EXPECT_EQ(again.duplicates, 2u);
  std::vector<std::pair<Status, UtcMillis>> history;
  for (const StatusChange& one : store().changes.history(id)) {
    history.emplace_back(one.status, one.occurred_at);
    EXPECT_EQ(one.source, "vendor");
    EXPECT_EQ(one.gift_source, "vendor");
  }
  ASSERT_THAT(history, SizeIs(3));
  EXPECT_EQ(history.front(), std::pair(Status::sent, kNow - 5));
}

// STATUS-28, STATUS-29
TEST_P(SourcesConformance, ChangesApplyOnlyToGiftsOfTheirSource) {
  const TransactionId own = own_gift();
  const TransactionId external{9'000'000'002};
  InboundBatch page = report("vendor");
  page.items = {external_gift(external), change(own, Status::redeemed), external_gift(own)};
  const IngestResult receipt = sources().accept(page);
  EXPECT_EQ(receipt.gifts, 1u);
  ASSERT_THAT(receipt.id_conflicts, SizeIs(2));
  EXPECT_EQ(receipt.id_conflicts[0],
            "transaction " + std::to_string(own.value) +
                " is a gift that giftsync sent, but this source reports only its own gifts; if it is to "
                "report on giftsync's, set transactions: own");
  EXPECT_EQ(gift(own)->transaction.gift_source, "");
  EXPECT_THAT(store().changes.history(own), IsEmpty());
  ASSERT_THAT(sources().list_quarantined("vendor", 0, 10), SizeIs(2));
  EXPECT_EQ(sources().list_quarantined("vendor", 0, 10).front().reason, QuarantineReason::other_source);

  InboundBatch own_report = report();
  own_report.source = "other";
  own_report.items = {change(external, Status::redeemed)};
  EXPECT_THAT(sources().accept(own_report).id_conflicts,
              ElementsAre("transaction 9000000002 belongs to source vendor: gifts belong to a source by its "
                          "name; if vendor was renamed to other, restore its old name"));

  InboundBatch not_external_any_more = report();
  not_external_any_more.items = {change(external, Status::opened)};
  EXPECT_THAT(
      sources().accept(not_external_any_more).id_conflicts,
      ElementsAre("transaction 9000000002 belongs to this source since it had transactions: external; "
                  "set that again"));
}

TEST_P(SourcesConformance, OrphansApplyOnlyToGiftsOfTheirSource) {
  const TransactionId next{own_gift().value + 1};
  InboundBatch page = report("vendor");
  page.items = {change(next, Status::redeemed)};
  EXPECT_EQ(sources().accept(page).orphaned, 1u);
  ASSERT_EQ(own_gift(), next);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 0);
  EXPECT_THAT(store().changes.changes_of(std::span(&next, 1)), IsEmpty()) << "nor is it folded meanwhile";
  EXPECT_EQ(source_summary().orphaned, 1);
  EXPECT_EQ(store().changes.purge_orphaned("vendor", kNow + kDayMillis), 1);
  EXPECT_EQ(source_summary().orphaned, 0);

  const TransactionId external{9'000'000'003};
  page.items = {change(external, Status::redeemed, 9)};
  EXPECT_EQ(sources().accept(page).orphaned, 1u);
  page.items = {external_gift(external)};
  EXPECT_EQ(sources().accept(page).gifts, 1u);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 1);
  EXPECT_THAT(store().changes.changes_of(std::span(&external, 1)), SizeIs(2));
}

TEST_P(SourcesConformance, OrphansFollowACorrectedGiftSource) {
  const TransactionId external{9'000'000'004};
  InboundBatch page = report();  // "transactions: own", by mistake
  page.items = {change(external, Status::redeemed, 9)};
  EXPECT_EQ(sources().accept(page).orphaned, 1u);
  page.source = "other";
  page.items = {change(external, Status::opened, 8)};
  EXPECT_EQ(sources().accept(page).orphaned, 1u);
  sources().open("vendor", "vendor", kNow);
  page = report("vendor");
  page.items = {external_gift(external), change(external, Status::redeemed, 9)};
  const IngestResult receipt = sources().accept(page);
  EXPECT_EQ(receipt.gifts, 1u);
  EXPECT_EQ(receipt.duplicates, 1u);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 1);
  EXPECT_THAT(store().changes.changes_of(std::span(&external, 1)), SizeIs(2)) << "sent and redeemed";
  EXPECT_EQ(source_summary().orphaned, 0);
  EXPECT_EQ(source_summary("other").orphaned, 1) << "the other source was not corrected";
}

TEST_P(SourcesConformance, StoresConcurrentBatchesAboutOneGift) {
  Store second(database_->address());
  for (std::int64_t round = 0; round < 20; ++round) {
    const TransactionId first_id{9'100'000'000 + round * 100};
    const auto tell = [&](Sources& to, const std::string& message) {
      InboundBatch page = report("vendor");
      for (std::int64_t i = 0; i < 50; ++i) page.items.push_back(external_gift({first_id.value + i}));
      page.message_id = message + std::to_string(round);
      return to.accept(page);
    };
    IngestResult theirs;
    std::thread other([&] { theirs = tell(second.sources, "b"); });
    IngestResult ours;
    EXPECT_NO_THROW(ours = tell(sources(), "a"));
    other.join();
    EXPECT_EQ(ours.kind, Kind::stored);
    EXPECT_EQ(theirs.kind, Kind::stored);
    EXPECT_EQ(ours.gifts + theirs.gifts, 50u);
    EXPECT_EQ(ours.accepted + theirs.accepted, 50u);
  }
}

// SRC-20
TEST_P(SourcesConformance, OwnIdsSkipExternalIds) {
  const TransactionId first = own_gift();
  InboundBatch page = report("vendor");
  // Some in the block of ids that is in use, some in the next one.
  for (const std::int64_t ahead : {1, 2, 5, 1500}) page.items.push_back(external_gift({first.value + ahead}));
  EXPECT_EQ(sources().accept(page).gifts, 4u);
  std::set<std::int64_t> ids;
  for (int i = 0; i < 4; ++i) ids.insert(own_gift().value);
  EXPECT_THAT(ids, SizeIs(4));
  for (const std::int64_t ahead : {1, 2, 5, 1500}) EXPECT_EQ(ids.count(first.value + ahead), 0u);
  EXPECT_EQ(store().gifts.highest_transaction_id()->value, *ids.rbegin()) << "only our own count";
}

// SRC-1, SRC-36
TEST_P(SourcesConformance, APollAdvancesAtomicallyWithItsChanges) {
  const TransactionId id = own_gift();
  const auto claim = sources().claim("vendor", "one", 60'000, kNow);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->cursor_state, "");
  EXPECT_FALSE(sources().claim("vendor", "two", 60'000, kNow)) << "another owner has claimed it";
  InboundBatch page = report();
  page.items = {change(id, Status::opened)};
  page.advance = InboundBatch::Advance{"one", claim->revision, "page 2"};
  EXPECT_EQ(sources().accept(page).kind, Kind::stored);
  page.items = {change(id, Status::redeemed)};
  page.advance->cursor_state = "page 3";
  EXPECT_EQ(sources().accept(page).kind, Kind::superseded) << "the position was another one by then";
  page.advance = InboundBatch::Advance{"two", claim->revision + 1, "page 3"};
  EXPECT_EQ(sources().accept(page).kind, Kind::superseded) << "it is not theirs";
  EXPECT_THAT(store().changes.history(id), SizeIs(1));
  sources().release_claim("vendor", "one", {kNow + 5000, 0, std::nullopt});
  EXPECT_FALSE(sources().claim("vendor", "two", 60'000, kNow + 4999));
  const auto again = sources().claim("vendor", "two", 60'000, kNow + 5000);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cursor_state, "page 2");
  EXPECT_EQ(again->revision, claim->revision + 1);
  sources().release_lease("other", "two");
  sources().release_lease("vendor", "one");
  EXPECT_FALSE(sources().claim("vendor", "one", 60'000, kNow + 5000)) << "neither was this lease";
  sources().release_lease("vendor", "two");
  EXPECT_TRUE(sources().claim("vendor", "two", 60'000, kNow + 5000));
  sources().release_leases({"two"});
  sources().release_claim("vendor", "two", {kNow + 99'000, 7, "stale"});
  EXPECT_EQ(source_summary().cursor_state, "page 2") << "a lease that was broken ends nothing";
}

TEST_P(SourcesConformance, ResettingTheCursorSupersedesARunningPoll) {
  const auto claim = sources().claim("vendor", "one", 60'000, kNow);
  ASSERT_TRUE(claim);
  InboundBatch page = report();
  page.advance = InboundBatch::Advance{"one", claim->revision, "page 2"};
  ASSERT_EQ(sources().accept(page).kind, Kind::stored);
  EXPECT_TRUE(sources().reset_cursor("vendor"));
  page.advance = InboundBatch::Advance{"one", claim->revision + 1, "page 3"};
  EXPECT_EQ(sources().accept(page).kind, Kind::superseded);
  sources().release_claim("vendor", "one", {kNow + 99'000, 7, "page 3"});
  const auto again = sources().claim("vendor", "one", 60'000, kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->cursor_state, "");
  EXPECT_EQ(again->failures, 0);
  EXPECT_FALSE(sources().reset_cursor("unknown"));
}

// SRC-35
TEST_P(SourcesConformance, ClaimsAnExpiredLease) {
  ASSERT_TRUE(sources().claim("vendor", "one", -1000, kNow));
  EXPECT_TRUE(sources().claim("vendor", "two", 60'000, kNow));
}

TEST_P(SourcesConformance, ListsReprocessesAndPurgesQuarantinedEvents) {
  InboundBatch message = report();
  message.items = {quarantined("viewed"), quarantined("seen"),
                   quarantined("2099", QuarantineReason::implausible_time)};
  EXPECT_EQ(sources().accept(message).quarantined, 3u);
  EXPECT_EQ(sources().accept(message).quarantined, 0u) << "the same event is stored once";
  const auto words = sources().count_quarantined("vendor");
  ASSERT_THAT(words, SizeIs(3));
  EXPECT_THAT(sources().count_quarantined(""), SizeIs(3));
  EXPECT_THAT(sources().count_quarantined("other"), IsEmpty());
  EXPECT_EQ(words.front().count, 1);

  const TransactionId id = own_gift();
  InboundBatch reprocessed = report();
  reprocessed.items = {change(id, Status::opened)};
  reprocessed.reprocessed_ids = {sources().list_quarantined("vendor", 0, 1).front().id};
  EXPECT_EQ(sources().accept(reprocessed).accepted, 1u);
  EXPECT_THAT(sources().list_quarantined("vendor", 0, 10), SizeIs(2));
  EXPECT_EQ(sources().purge_quarantined("vendor", QuarantineReason::implausible_time), 1);
  EXPECT_EQ(sources().purge_quarantined("vendor", std::nullopt), 1);
  EXPECT_THAT(sources().list_quarantined("", 0, 10), IsEmpty());
}

// SRC-63
TEST_P(SourcesConformance, KeepsIgnoredEventsAsTheyCame) {
  InboundBatch message = report();
  message.ignored = {ignored("ping", 5), ignored("pong")};
  message.items = {quarantined("odd")};
  EXPECT_EQ(sources().accept(message).quarantined, 1u);
  const auto events = sources().list_ignored("vendor", 0, 10);
  ASSERT_THAT(events, SizeIs(2));
  const auto& ping = events[0].status_word == "ping" ? events[0] : events[1];
  EXPECT_EQ(ping.state, EventState::ignored);
  EXPECT_EQ(ping.reason, std::nullopt);
  EXPECT_EQ(ping.source, "vendor");
  EXPECT_EQ(ping.detail, "status is mapped to ignore");
  EXPECT_EQ(ping.payload, R"({"status":"ping"})");
  EXPECT_EQ(ping.received_at, kNow + 5);
  EXPECT_THAT(sources().list_ignored("vendor", events[0].id, 10), SizeIs(1)) << "by pages";
  EXPECT_THAT(sources().list_ignored("", 0, 10), SizeIs(2));
  EXPECT_THAT(ignored_words("other"), IsEmpty());
  EXPECT_EQ(sources().count_ignored("vendor"), 2);

  sources().accept(message);
  EXPECT_EQ(sources().count_ignored("vendor"), 2) << "the same event is stored once";
  EXPECT_EQ(source_summary().ignored, 4) << "but each of its receipts counts";
  message.source = "other";
  sources().accept(message);
  EXPECT_EQ(sources().count_ignored("other"), 2);

  EXPECT_EQ(source_summary().quarantined, 1);
  EXPECT_THAT(sources().list_quarantined("vendor", 0, 10), SizeIs(1));
  EXPECT_THAT(sources().orphaned_payloads("vendor", 0, 10), IsEmpty());
  EXPECT_EQ(sources().purge_quarantined("vendor", std::nullopt), 1);
  EXPECT_EQ(sources().purge_ignored("vendor"), 2);
  EXPECT_THAT(sources().list_ignored("", 0, 10), SizeIs(2)) << "of the other source";
}

// SRC-63
TEST_P(SourcesConformance, KeepsTheNewestIgnoredEventsOfEachSource) {
  InboundBatch message = report();
  message.items = {quarantined("odd")};
  message.ignored = {ignored("early")};
  message.source = "other";
  sources().accept(message);
  message.source = "vendor";
  message.ignored.clear();
  for (std::int64_t i = 0; i < kMaxIgnored; ++i)
    message.ignored.push_back(ignored("p" + std::to_string(i), 10 + i));
  sources().accept(message);
  EXPECT_EQ(sources().count_ignored("vendor"), kMaxIgnored);
  message.ignored = {ignored("newest", 10'000), ignored("oldest", 9)};
  sources().accept(message);
  EXPECT_EQ(sources().count_ignored("vendor"), kMaxIgnored);
  EXPECT_THAT(ignored_words(), testing::Contains("newest"));
  EXPECT_THAT(ignored_words(), testing::Contains("p1"));
  EXPECT_THAT(ignored_words(), testing::Not(testing::Contains("p0")));
  EXPECT_THAT(ignored_words(), testing::Not(testing::Contains("oldest")));
  EXPECT_THAT(ignored_words("other"), ElementsAre("early"));
  EXPECT_THAT(sources().list_quarantined("", 0, 10), SizeIs(2)) << "the limit is only for ignored events";

  message.ignored.clear();
  for (std::int64_t i = 0; i < kMaxIgnored + 5; ++i)
    message.ignored.push_back(ignored("q" + std::to_string(i), 20'000 + i));
  sources().accept(message);
  EXPECT_EQ(sources().count_ignored("vendor"), kMaxIgnored) << "of one page too";
  EXPECT_THAT(ignored_words(), testing::Contains("q" + std::to_string(kMaxIgnored + 4)));
  EXPECT_THAT(ignored_words(), testing::Not(testing::Contains("q4")));
}

// SRC-63
TEST_P(SourcesConformance, IgnoredEventsTakeNoCapacityOfOthers) {
  fill_quarantine(kMaxQuarantined - 1);
  InboundBatch message = report();
  message.ignored = {ignored("ping"), ignored("pong")};
  message.items = {quarantined("one more")};
  EXPECT_EQ(sources().accept(message).kind, Kind::stored);
  EXPECT_EQ(sources().count_ignored("vendor"), 2);
  message.ignored = {ignored("late")};
  message.items = {quarantined("one too many")};
  EXPECT_EQ(sources().accept(message).kind, Kind::over_limit);
  EXPECT_EQ(sources().count_ignored("vendor"), 2) << "nothing of the message is stored";
  message.items = {};
  EXPECT_EQ(sources().accept(message).kind, Kind::stored) << "the limit concerns no ignored event";
  EXPECT_EQ(sources().count_ignored("vendor"), 3);
}

// SRC-63
TEST_P(SourcesConformance, AnEventHasOneState) {
  InboundBatch message = report("vendor");
  message.ignored = {ignored("viewed"), ignored("seen"), ignored("ping")};
  sources().accept(message);
  InboundItem orphan = change({9'000'000'021}, Status::opened);
  orphan.orphan_detail = "it has no recipient";
  orphan.event.digest = "ignored seen";
  orphan.event.payload = "{\"now\":1}";
  InboundItem odd = quarantined("viewed");
  odd.event.digest = "ignored viewed";
  message.ignored.clear();
  message.items = {orphan, orphan, odd};
  const IngestResult result = sources().accept(message);
  EXPECT_EQ(result.orphaned, 1u);
  EXPECT_EQ(result.quarantined, 1u);
  EXPECT_THAT(ignored_words(), ElementsAre("ping"));
  ASSERT_THAT(sources().orphaned_payloads("vendor", 0, 10), SizeIs(1));
  const UnappliedEvent orphaned = sources().orphaned_payloads("vendor", 0, 10).front();
  EXPECT_EQ(orphaned.state, EventState::orphaned);
  EXPECT_EQ(orphaned.detail, "it has no recipient");
  EXPECT_EQ(orphaned.payload, "{\"now\":1}");
  EXPECT_EQ(orphaned.transaction, "9000000021");
  EXPECT_THAT(sources().list_quarantined("vendor", 0, 10), SizeIs(1));

  message.items.clear();
  message.ignored = {ignored("viewed"), ignored("seen")};
  sources().accept(message);
  EXPECT_THAT(ignored_words(), ElementsAre("ping")) << "they wait for their reprocessing";
  InboundBatch again = report("vendor");
  again.reprocessed_ids = {sources().list_quarantined("vendor", 0, 1).front().id};
  again.ignored = {ignored("viewed")};
  sources().accept(again);
  EXPECT_THAT(ignored_words(), testing::UnorderedElementsAre("ping", "viewed"));
  EXPECT_THAT(sources().list_quarantined("vendor", 0, 10), IsEmpty());
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM inbound_event"), "3");
}

// SRC-63
TEST_P(SourcesConformance, CountsUnappliedEventsByIndexOnly) {
  if (GetParam() != sql::Dialect::sqlite) GTEST_SKIP() << "a small table is scanned there";
  sql::Database database(database_->address());
  const auto plan_of = [&](const std::string& select) {
    return database.read([&](soci::session& session) {
      int unused = 0;
      std::string detail;
      session << "EXPLAIN QUERY PLAN " + select, soci::into(unused), soci::into(unused), soci::into(unused),
          soci::into(detail);
      return detail;
    });
  };
  const std::string of_vendor = "FROM inbound_event WHERE source = 'vendor' AND state ";
  for (const char* states : {"= 'ignored'", "IN ('quarantined', 'orphaned')", "IN ('quarantined')"})
    EXPECT_THAT(plan_of("SELECT count(*) " + of_vendor + states),
                testing::HasSubstr("COVERING INDEX inbound_event_state"));
  EXPECT_THAT(plan_of("SELECT received_at, id " + of_vendor +
                      "= 'ignored' ORDER BY received_at DESC, id DESC LIMIT 1 OFFSET 1000"),
              testing::HasSubstr("COVERING INDEX inbound_event_state"));
  EXPECT_THAT(plan_of("SELECT id " + of_vendor + "= 'orphaned' AND transaction_id IN ('1', '2')"),
              testing::HasSubstr("INDEX inbound_event_orphaned"));
  EXPECT_THAT(plan_of("SELECT id " + of_vendor + "<> 'quarantined' AND digest IN ('1', '2')"),
              testing::HasSubstr("(source=? AND digest=?)"));
}

TEST_P(SourcesConformance, RejectsTheWholeBatchWhenOverQuota) {
  const TransactionId id = own_gift();
  fill_quarantine(100'000);
  InboundBatch message = report();
  message.items = {change(id, Status::opened), quarantined("one more")};
  message.message_id = "msg_full";
  EXPECT_EQ(sources().accept(message).kind, Kind::over_limit);
  EXPECT_THAT(store().changes.history(id), IsEmpty());
  message.items.pop_back();
  EXPECT_EQ(sources().accept(message).kind, Kind::stored)
      << "the message id was not used up, and other reports pass";
  message.source = "other";
  message.items = {quarantined("one more")};
  EXPECT_EQ(sources().accept(message).kind, Kind::stored) << "other sources are not affected";
}

TEST_P(SourcesConformance, FindsSourcesWithOnlyOrphanedChanges) {
  InboundBatch message = report();
  message.items = {change({9'000'000'011}, Status::opened)};
  ASSERT_EQ(sources().accept(message).orphaned, 1u);
  EXPECT_THAT(sources().all_orphaned(kNow), IsEmpty()) << "not so orphan";
  EXPECT_THAT(sources().all_orphaned(kNow + 1), ElementsAre("vendor"));
  message.items.front().change->occurred_at = kNow + 3;
  message.items.front().sent = message.items.front().change;
  message.items.front().sent->status = Status::sent;
  ASSERT_EQ(sources().accept(message).orphaned, 1u);
  EXPECT_THAT(sources().all_orphaned(kNow + 1), ElementsAre("vendor"));
  message.items = {change(own_gift(), Status::opened)};
  ASSERT_EQ(sources().accept(message).accepted, 1u);
  EXPECT_THAT(sources().all_orphaned(kNow + 1), IsEmpty()) << "though one report batch two orphaned changes";
}

TEST_P(SourcesConformance, StoresTheStateOfASource) {
  EXPECT_EQ(source_summary().state, "new");
  const auto set_state = [&](const std::string& word, const std::string& reason, UtcMillis at) {
    SourceHealthUpdate update{.source = "vendor", .state = SourceHealthUpdate::State{word, reason, at}};
    sources().save_health(std::span(&update, 1));
  };
  set_state("failing", "it is down", kNow + 1);
  set_state("failing", "it is still down", kNow + 2);
  EXPECT_EQ(source_summary().state_since, kNow + 1);
  EXPECT_EQ(source_summary().reason, "it is still down");
  set_state("ok", "", kNow + 3);
  EXPECT_EQ(source_summary().state_since, kNow + 3);
  sources().open("vendor", "", kNow + 9);
  EXPECT_EQ(source_summary().state, "ok") << "opening again changes nothing";
  EXPECT_EQ(source_summary("other").state, "new");
}

// SRC-60
TEST_P(SourcesConformance, SavesTheRefusalsOfAllSourcesAtOnce) {
  EXPECT_EQ(source_summary().last_refused_at, std::nullopt);
  SourceHealthUpdate vendor{.source = "vendor", .refused = 7, .refused_in_row = 5};
  vendor.last_refusal = SourceHealthUpdate::Refusal{"status: found nothing", kNow + 1};
  SourceHealthUpdate other{.source = "other", .refused = 1};
  other.last_refusal = SourceHealthUpdate::Refusal{"it came without a signature", kNow + 2};
  sources().save_health(std::vector{vendor, other});
  EXPECT_EQ(source_summary().rejected, 7);
  EXPECT_EQ(source_summary().refused_in_row, 5);
  EXPECT_EQ(source_summary().last_refused_at, kNow + 1);
  EXPECT_EQ(source_summary().last_refusal, "status: found nothing");
  EXPECT_EQ(source_summary().state, "new");
  EXPECT_EQ(source_summary("other").refused_in_row, 0);
  EXPECT_EQ(source_summary("other").last_refusal, "it came without a signature");
  sources().save_health(std::vector{vendor});
  EXPECT_EQ(source_summary().rejected, 14);
  EXPECT_EQ(source_summary().refused_in_row, 10);
  sources().accept(report());
  EXPECT_EQ(source_summary().refused_in_row, 0) << "a message was accepted";
  EXPECT_EQ(source_summary().rejected, 14);
  EXPECT_EQ(source_summary().last_refusal, "status: found nothing");
}

// SRC-61
TEST_P(SourcesConformance, KeepsTheNewestRefusedMessagesAsTheyCame) {
  const std::string bytes("\x00\xff{\n", 4);
  const auto save = [&](const std::string& source, std::size_t count) {
    SourceHealthUpdate update{.source = source, .refused = static_cast<std::int64_t>(count)};
    for (std::size_t i = 0; i < count; ++i)
      update.messages.push_back({.source = source,
                                 .message_id = "msg_" + std::to_string(i),
                                 .status = 400,
                                 .reason = "no valid JSON",
                                 .size = 4,
                                 .body = bytes,
                                 .received_at = kNow + static_cast<std::int64_t>(i)});
    sources().save_health(std::span(&update, 1));
  };
  save("other", 1);
  save("vendor", kMaxRefusedPerSource + 3);
  RefusedMessages& refused = store().refused_messages;
  const auto newest = refused.list("vendor", 1000);
  ASSERT_THAT(newest, SizeIs(kMaxRefusedPerSource));
  EXPECT_EQ(newest.front().message_id, "msg_102");
  EXPECT_EQ(newest.back().message_id, "msg_3");
  EXPECT_EQ(newest.front().body, bytes);
  EXPECT_EQ(newest.front().status, 400);
  EXPECT_FALSE(newest.front().is_cut());
  EXPECT_THAT(refused.list("vendor", 2), SizeIs(2));
  EXPECT_THAT(refused.list("other", 10), SizeIs(1)) << "another source has its own limit";
  EXPECT_EQ(refused.find("vendor", newest.back().id)->message_id, "msg_3");
  EXPECT_FALSE(refused.find("other", newest.back().id).has_value());

  SourceHealthUpdate large{.source = "vendor", .refused = 1};
  large.messages.push_back({.source = "vendor", .size = 70'000, .body = std::string(70'000, 'x')});
  large.messages.front().received_at = kNow + 500;
  sources().save_health(std::span(&large, 1));
  EXPECT_EQ(refused.list("vendor", 1).front().body.size(), kMaxRefusedBodyBytes);
  EXPECT_TRUE(refused.list("vendor", 1).front().is_cut());
  refused.prune(kNow + 500);
  EXPECT_THAT(refused.list("vendor", 1000), SizeIs(1));
  EXPECT_THAT(refused.list("other", 1000), IsEmpty());
}

// STATUS-20
TEST_P(SourcesConformance, AcceptingCountsTheOrphanedChangesOfASourceOnceForMany) {
  InboundBatch message = report();
  message.items = {change({77}, Status::opened)};
  ASSERT_EQ(sources().accept(message).orphaned, 1u) << "counted: many more are allowed";
  sql("INSERT INTO change_log (id, source, transaction_id, status, occurred_at, received_at, orphaned) WITH "
      "RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
      std::to_string(kMaxOrphanedChanges) +
      ") SELECT 1000000 + i, 'vendor', 2000000 + i, 'opened', 0, 0, 1 "
      "FROM n");
  message.items = {change({78}, Status::opened)};
  EXPECT_EQ(sources().accept(message).orphaned, 1u) << "a message does not count again";
  const StatusChange imported{{}, "vendor", {79}, Status::opened, kNow, kNow, {}};
  EXPECT_THAT(store().changes.accept(std::span(&imported, 1)), ElementsAre(AcceptOutcome::orphaned))
      << "nor does an import";
  store().changes.purge_orphaned("vendor", UtcMillis{-1});  // deletes none, but may have
  message.items = {change({80}, Status::opened)};
  EXPECT_EQ(sources().accept(message).kind, Kind::over_limit) << "counted again";
}

TEST_P(SourcesConformance, ResetsAScheduleOnlyIfUnchanged) {
  ASSERT_TRUE(sources().claim("vendor", "one", 60'000, kNow));
  sources().release_claim("vendor", "one", {kNow + 99'000, 7, "page 2"});
  const std::vector<SourceSchedule> waits = sources().list_schedules();
  ASSERT_THAT(waits, SizeIs(2)) << "the other one is due";
  EXPECT_EQ(waits[1].name, "vendor");
  EXPECT_EQ(waits[1].next_attempt_at, kNow + 99'000);
  EXPECT_EQ(waits[1].failures, 7);
  EXPECT_EQ(waits[1].cursor_state, "page 2");
  SourceSchedule other = waits[1];
  other.next_attempt_at = kNow + 98'000;
  EXPECT_FALSE(sources().reset_schedule(other, kNow)) << "another poll ran meanwhile";
  EXPECT_TRUE(sources().reset_schedule(waits[1], kNow));
  EXPECT_TRUE(sources().claim("vendor", "one", 21'600'000, kNow));
  sources().cap_leases(60'000);
  EXPECT_FALSE(sources().claim("vendor", "two", 60'000, kNow)) << "who has the lease may be at work still";
  sources().cap_leases(-1);
  EXPECT_TRUE(sources().claim("vendor", "two", 60'000, kNow));
}

}  // namespace
}  // namespace giftsync::store
