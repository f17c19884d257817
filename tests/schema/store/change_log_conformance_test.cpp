// The change log on every back end: void, restore, list, orphan and purge changes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "schema/sql/queries.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr UtcMillis kNow{1'800'000'000'000};
using Restored = RestoreOutcome::Kind;

class ChangeLogConformance : public tests::StoreFixture {
 protected:
  ChangeLog& log() { return store_->changes; }
  static StatusChange change(TransactionId gift, Status status, std::int64_t after,
                             const std::string& event = "", const std::string& source = "import") {
    StatusChange one{{}, source, gift, status, kNow + after, kNow + after, {}};
    if (!event.empty()) one.event_ids.push_back(event);
    return one;
  }
  std::vector<AcceptOutcome> accept(const std::vector<StatusChange>& changes) {
    return log().accept(changes);
  }
  void empty_queue() {
    const auto claims = store_->sync.claim("test", 60'000, 100, kNow + 1'000'000);
    std::vector<SyncClose> closes;
    for (const SyncClaim& claim : claims) closes.push_back({claim, true, kNow, "", std::nullopt});
    store_->sync.close("test", closes);
  }
  /// Rows that only a test makes: `count` orphaned changes of one source.
  void insert_orphans(const std::string& source, std::int64_t count) {
    sql::Database database(database_->address());
    database.write([&](soci::session& session) {
      session
          << "INSERT INTO change_log (id, source, transaction_id, status, occurred_at, received_at, "
             "orphaned) "
             "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                 std::to_string(count) +
                 ") SELECT 1000000 + i, :source, 2000000 + i, 'opened', 1800000000000, 1800000000000, 1 FROM "
                 "n",
          soci::use(source);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ChangeLogConformance,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(ChangeLogConformance, SpansAreWhatCounts) {
  const TransactionId gift = one_gift();
  StatusChange timer = change(gift, Status::expired, 90);
  timer.premise = Premise::unopened;
  accept({change(gift, Status::opened, 30), change(gift, Status::opened, 10),
          change(gift, Status::opened, 20), timer});
  auto spans = log().spans_of(std::span(&gift, 1));
  ASSERT_THAT(spans, SizeIs(2));
  if (spans[0].status == Status::expired) std::swap(spans[0], spans[1]);
  EXPECT_EQ(spans[0].earliest, kNow + 10);
  EXPECT_EQ(spans[0].latest, kNow + 30);
  EXPECT_EQ(spans[1].premise, Premise::unopened);
  log().void_change(log().history(gift).front().id, {kNow, "ana", ""});
  for (const ChangeSpan& span : log().spans_of(std::span(&gift, 1))) {
    EXPECT_EQ(span.earliest, span.status == Status::opened ? kNow + 20 : kNow + 90);
  }
}

// STATUS-23, STATUS-22
TEST_P(ChangeLogConformance, AVoidedChangeStaysVoidedWhenReportedAgain) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10, "e1")});
  empty_queue();
  const ChangeId id = log().history(gift).front().id;
  EXPECT_EQ(log().void_change(id, {kNow + 50, "ana", "wrong gift"}), VoidOutcome::voided);
  EXPECT_THAT(store_->sync.claim("test", 60'000, 100, kNow + 1'000'000), SizeIs(1))
      << "the record must follow";
  EXPECT_EQ(log().void_change(id, {kNow + 60, "bob", "again"}), VoidOutcome::already_voided);
  EXPECT_EQ(log().void_change({id.value + 100'000}, {kNow, "bob", ""}), VoidOutcome::unknown);
  EXPECT_THAT(accept({change(gift, Status::redeemed, 10, "e2")}), ElementsAre(AcceptOutcome::duplicate));
  EXPECT_THAT(log().spans_of(std::span(&gift, 1)), IsEmpty());
  const auto history = log().history(gift);
  ASSERT_THAT(history, SizeIs(1));
  ASSERT_TRUE(history[0].voiding);
  EXPECT_EQ(history[0].voiding->by, "ana") << "the first voiding stands";
  EXPECT_EQ(history[0].voiding->reason, "wrong gift");
  EXPECT_EQ(history[0].voiding->at, kNow + 50);
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2"));
}

// STATUS-26
TEST_P(ChangeLogConformance, AChangeCanBeVoidedAndRestoredRepeatedly) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10, "e1")});
  const ChangeId id = log().history(gift).front().id;
  EXPECT_EQ(log().restore_change(id, {kNow + 40, "bob", ""}).kind, Restored::not_voided);
  EXPECT_THAT(log().history(gift).front().audit, IsEmpty());
  for (const std::int64_t after : {100, 200}) {
    EXPECT_EQ(log().void_change(id, {kNow + after, "ana", "wrong gift"}), VoidOutcome::voided);
    EXPECT_THAT(log().spans_of(std::span(&gift, 1)), IsEmpty());
    EXPECT_THAT(accept({change(gift, Status::redeemed, 10, "e2")}), ElementsAre(AcceptOutcome::duplicate));
    empty_queue();
    EXPECT_EQ(store_->sync.counts().waiting, 0);
    EXPECT_EQ(log().restore_change(id, {kNow + after + 1, "bob", "it was right"}).kind, Restored::restored);
    EXPECT_EQ(store_->sync.counts().waiting, 1) << "the record must follow";
    EXPECT_EQ(log().restore_change(id, {kNow + after + 2, "eve", ""}).kind, Restored::not_voided);
    EXPECT_THAT(log().spans_of(std::span(&gift, 1)), SizeIs(1));
    EXPECT_THAT(accept({change(gift, Status::redeemed, 10, "e3")}), ElementsAre(AcceptOutcome::duplicate));
  }
  const auto history = log().history(gift);
  ASSERT_THAT(history, SizeIs(1));
  EXPECT_FALSE(history[0].voiding);
  EXPECT_FALSE(history[0].orphaned);
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2", "e3"));
  const auto& reviews = history[0].audit;
  ASSERT_THAT(reviews, SizeIs(4));
  EXPECT_EQ(reviews[2].kind, AuditAction::voided);
  EXPECT_EQ(reviews[2].by, "ana");
  EXPECT_EQ(reviews[2].reason, "wrong gift");
  EXPECT_EQ(reviews[2].at, kNow + 200);
  EXPECT_EQ(reviews[3].kind, AuditAction::restored);
  EXPECT_EQ(reviews[3].by, "bob");
  EXPECT_EQ(reviews[3].reason, "it was right");
  EXPECT_EQ(reviews[3].at, kNow + 201);
  EXPECT_THAT(log().list({}, ChangeOrder::oldest_first, {}, 10).front().audit, SizeIs(4));
  EXPECT_EQ(log().restore_change({id.value + 100'000}, {kNow, "bob", ""}).kind, Restored::unknown);
}

// STATUS-18
TEST_P(ChangeLogConformance, KeepsAHundredEventIdsOfAChange) {
  const TransactionId gift = one_gift();
  const auto reports = [&](Status status, int first, int count) {
    std::vector<StatusChange> changes;
    for (int i = first; i < first + count; ++i)
      changes.push_back(change(gift, status, 10, "e" + std::to_string(i)));
    return changes;
  };
  const auto event_ids_of = [&](Status status) {
    std::size_t ids = 0;
    for (const StatusChange& one : log().history(gift)) {
      if (one.status == status) ids += one.event_ids.size();
    }
    return ids;
  };
  const auto together = accept(reports(Status::opened, 0, 150));
  ASSERT_THAT(together, SizeIs(150));
  EXPECT_EQ(together[0], AcceptOutcome::accepted);
  EXPECT_EQ(std::count(together.begin(), together.end(), AcceptOutcome::duplicate), 149);
  EXPECT_EQ(event_ids_of(Status::opened), 100u);
  EXPECT_THAT(accept(reports(Status::opened, 200, 1)), ElementsAre(AcceptOutcome::duplicate));
  EXPECT_EQ(event_ids_of(Status::opened), 100u);

  accept(reports(Status::redeemed, 0, 60));
  EXPECT_THAT(accept(reports(Status::redeemed, 60, 30)), Each(AcceptOutcome::duplicate));
  EXPECT_EQ(event_ids_of(Status::redeemed), 90u);
  accept(reports(Status::redeemed, 60, 30));
  EXPECT_EQ(event_ids_of(Status::redeemed), 90u) << "each id once";
  accept(reports(Status::redeemed, 0, 93));
  EXPECT_EQ(event_ids_of(Status::redeemed), 93u) << "known ids do not count again";
  EXPECT_THAT(accept(reports(Status::redeemed, 90, 30)), Each(AcceptOutcome::duplicate));
  EXPECT_EQ(event_ids_of(Status::redeemed), 100u);
  std::vector<StatusChange> mixed = reports(Status::redeemed, 200, 1);
  mixed.push_back(change(gift, Status::refunded, 20, "r1"));
  EXPECT_THAT(accept(mixed), ElementsAre(AcceptOutcome::duplicate, AcceptOutcome::accepted));
  EXPECT_EQ(event_ids_of(Status::redeemed), 100u);
  EXPECT_EQ(event_ids_of(Status::refunded), 1u) << "another change has its own limit";
}

TEST_P(ChangeLogConformance, KeepsAHundredOfTheEventIdsThatOneReportBrings) {
  const TransactionId gift = one_gift();
  StatusChange many = change(gift, Status::opened, 10);
  for (int i = 0; i < 120; ++i) many.event_ids.push_back("e" + std::to_string(i));
  EXPECT_THAT(accept({many}), ElementsAre(AcceptOutcome::accepted));
  EXPECT_THAT(log().history(gift).front().event_ids, SizeIs(100));
}

TEST_P(ChangeLogConformance, TheSameTimeAndStatusFromAnotherSourceIsAnotherChange) {
  const TransactionId gift = one_gift();
  EXPECT_THAT(
      accept({change(gift, Status::opened, 10, "e1", "a"), change(gift, Status::opened, 10, "e1", "b"),
              change(gift, Status::opened, 10, "e1", "a")}),
      ElementsAre(AcceptOutcome::accepted, AcceptOutcome::accepted, AcceptOutcome::duplicate));
  EXPECT_THAT(log().history(gift), SizeIs(2));
}

TEST_P(ChangeLogConformance, AVoidedOrphanIsNotAppliedLater) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  accept({change(coming, Status::redeemed, 10)});
  EXPECT_EQ(log().void_change(log().history(coming).front().id, {kNow, "ana", ""}), VoidOutcome::voided);
  EXPECT_EQ(log().count_orphaned(), 0);
  empty_queue();
  EXPECT_EQ(store_->sync.counts().waiting, 0) << "there is nothing to sync for a gift that is not there";
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(log().apply_orphaned(kNow), 0);
  EXPECT_THAT(log().spans_of(std::span(&coming, 1)), IsEmpty());
}

// STATUS-24
TEST_P(ChangeLogConformance, ARestoredChangeIsOrphanedUntilItsGiftAppears) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  accept({change(coming, Status::redeemed, 10)});
  const ChangeId id = log().history(coming).front().id;
  log().void_change(id, {kNow, "ana", ""});
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::orphaned);
  EXPECT_EQ(log().count_orphaned(), 1);
  EXPECT_TRUE(log().history(coming).front().orphaned);
  EXPECT_EQ(log().restore_change(id, {kNow + 2, "bob", ""}).kind, Restored::not_voided);
  empty_queue();
  EXPECT_EQ(store_->sync.counts().waiting, 0) << "there is nothing to sync for a gift that is not there";
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(log().apply_orphaned(kNow), 1);
  EXPECT_THAT(log().spans_of(std::span(&coming, 1)), SizeIs(1));
}

TEST_P(ChangeLogConformance, AnOrphanVoidedBeforeItsGiftAppearsCountsOnceRestored) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  accept({change(coming, Status::redeemed, 10)});
  const ChangeId id = log().history(coming).front().id;
  log().void_change(id, {kNow, "ana", ""});
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::restored);
  EXPECT_EQ(log().count_orphaned(), 0);
  EXPECT_THAT(log().spans_of(std::span(&coming, 1)), SizeIs(1));
}

TEST_P(ChangeLogConformance, RestoresASourcesChangeOfItsOwnGift) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10, "", "vendor")});  // its setting said "own" by mistake
  const ChangeId id = log().history(gift).front().id;
  log().void_change(id, {kNow, "ana", ""});
  sql::Database database(database_->address());
  database.write(
      [&](soci::session& session) { session << "UPDATE recipient_transaction SET gift_source = 'vendor'"; });
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::restored);
  EXPECT_THAT(log().spans_of(std::span(&gift, 1)), SizeIs(1)) << "it counts";
}

// STATUS-24
TEST_P(ChangeLogConformance, AChangeOfAnotherSourcesGiftStaysVoided) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10)});
  const ChangeId id = log().history(gift).front().id;
  log().void_change(id, {kNow, "ana", ""});
  const auto give_to = [&](const std::string& gift_source) {
    sql::Database database(database_->address());
    database.write([&](soci::session& session) {
      session << "UPDATE recipient_transaction SET gift_source = :gift_source", soci::use(gift_source);
    });
  };
  give_to("vendor");
  const RestoreOutcome refused = log().restore_change(id, {kNow + 1, "bob", ""});
  EXPECT_EQ(refused.kind, Restored::other_source);
  EXPECT_EQ(refused.gift_of, "vendor");
  EXPECT_EQ(refused.transaction, gift);
  EXPECT_TRUE(log().history(gift).front().voiding);
  EXPECT_THAT(log().history(gift).front().audit, SizeIs(1));
  give_to(std::string(kAdoptedGiftSource));
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::restored)
      << "an adopted gift is anybody's";
}

// STATUS-24
TEST_P(ChangeLogConformance, RestoringAnOrphanRespectsTheQuota) {
  insert_orphans("flood", kMaxOrphanedChanges - 1);
  accept({change({77}, Status::opened, 1, "e1", "flood")});
  const ChangeId id = log().history({77}).front().id;
  log().void_change(id, {kNow, "ana", ""});
  EXPECT_THAT(accept({change({78}, Status::opened, 1, "e1", "flood")}), ElementsAre(AcceptOutcome::orphaned));
  const RestoreOutcome refused = log().restore_change(id, {kNow + 1, "bob", ""});
  EXPECT_EQ(refused.kind, Restored::too_many_orphaned);
  EXPECT_EQ(refused.source, "flood");
  EXPECT_TRUE(log().history({77}).front().voiding);
  log().void_change(log().history({78}).front().id, {kNow, "ana", ""});
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::orphaned);
}

// STATUS-20
TEST_P(ChangeLogConformance, LimitsTheOrphanedChangesOfASource) {
  insert_orphans("flood", kMaxOrphanedChanges - 1);
  EXPECT_THAT(
      accept({change({77}, Status::opened, 1, "e1", "flood"), change({77}, Status::opened, 1, "e2", "flood"),
              change({78}, Status::opened, 1, "e1", "flood"),
              change({77}, Status::opened, 1, "e1", "other")}),
      ElementsAre(AcceptOutcome::orphaned, AcceptOutcome::duplicate, AcceptOutcome::too_many_orphaned,
                  AcceptOutcome::orphaned));
  EXPECT_THAT(accept({change({77}, Status::opened, 1, "e3", "flood")}), ElementsAre(AcceptOutcome::duplicate))
      << "an orphaned change is a duplicate, also at the limit";
  const TransactionId gift = one_gift();
  EXPECT_THAT(accept({change(gift, Status::opened, 1, "", "flood")}), ElementsAre(AcceptOutcome::accepted))
      << "known gifts go on";
}

TEST_P(ChangeLogConformance, CountsTheOrphanedChangesOfASourceOnceForMany) {
  OrphanCapacity capacity;
  insert_orphans("flood", kMaxOrphanedChanges - 10);
  sql::Database database(database_->address());
  const auto take = [&](UtcMillis now) {
    return database.read([&](soci::session& session) { return capacity.take(session, "flood", 0, now); });
  };
  EXPECT_TRUE(take(kNow)) << "and allows four more";
  std::vector<StatusChange> ten;
  for (std::int64_t i = 0; i < 10; ++i) ten.push_back(change({100 + i}, Status::opened, 1, "", "flood"));
  EXPECT_THAT(accept(ten), Each(AcceptOutcome::orphaned));
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(take(kNow)) << "without another count";
  EXPECT_FALSE(take(kNow));
  log().purge_orphaned("flood", kNow + 1'000'000'000);
  EXPECT_FALSE(take(kNow + OrphanCapacity::kRecountMillis - 1)) << "not counted again for a while";
  EXPECT_TRUE(take(kNow + OrphanCapacity::kRecountMillis));
}

TEST_P(ChangeLogConformance, CountsOrphanedChangesInTheirIndex) {
  const std::string count = "SELECT count(*) FROM change_log WHERE orphaned = 1 AND source = 'flood'";
  insert_orphans("flood", 1'000);
  sql::Database database(database_->address());
  const std::string plan = database.write([&](soci::session& session) {
    std::string lines;
    if (GetParam() == sql::Dialect::postgresql) {
      session << "SET LOCAL enable_seqscan = off";
      for (const std::string& line : sql::select_column<std::string>(session, "EXPLAIN " + count))
        lines += line + "\n";
    } else {
      const soci::rowset<soci::row> rows = session.prepare << "EXPLAIN QUERY PLAN " + count;
      for (const soci::row& row : rows) lines += row.get<std::string>(3) + "\n";
    }
    return lines;
  });
  EXPECT_THAT(plan, testing::ContainsRegex("INDEX.*change_log_orphaned|Index.*change_log_orphaned"));
}

TEST_P(ChangeLogConformance, PurgesOrphanedChangesOfOneSourceByAge) {
  insert_orphans("old", 12'000);
  const TransactionId gift = one_gift();
  accept({change({77}, Status::opened, 1'000'000, "e1", "old"),
          change({78}, Status::opened, 1, "e1", "other"), change(gift, Status::opened, 1, "e1", "old")});
  EXPECT_EQ(log().count_orphaned("old", kNow + 1000), 12'000);
  EXPECT_EQ(log().purge_orphaned("old", kNow + 1000), 12'000);
  EXPECT_EQ(log().purge_orphaned("old", kNow + 1000), 0);
  EXPECT_EQ(log().count_orphaned(), 2);
  EXPECT_THAT(log().history(gift), SizeIs(1)) << "only orphaned ones are discarded";
  EXPECT_EQ(log().purge_orphaned("old", kNow + 2'000'000), 1);
  EXPECT_THAT(accept({change({77}, Status::opened, 1'000'000, "e9", "old")}),
              ElementsAre(AcceptOutcome::orphaned));
  EXPECT_THAT(log().history({77}).front().event_ids, ElementsAre("e9")) << "its old event ids went with it";
}

TEST_P(ChangeLogConformance, PurgingDeletesTheAuditEntries) {
  accept({change({77}, Status::opened, 1, "e1", "old")});
  const ChangeId id = log().history({77}).front().id;
  log().void_change(id, {kNow, "ana", ""});
  EXPECT_EQ(log().purge_orphaned("old", kNow + 1000), 0) << "it is not orphaned";
  ASSERT_EQ(log().restore_change(id, {kNow, "bob", ""}).kind, Restored::orphaned);
  EXPECT_EQ(log().purge_orphaned("old", kNow + 1000), 1);
  long long left = -1;
  sql::Database database(database_->address());
  database.read(
      [&](soci::session& session) { session << "SELECT count(*) FROM change_audit", soci::into(left); });
  EXPECT_EQ(left, 0);
}

TEST_P(ChangeLogConformance, ListsByFilterPageByPage) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::opened, 1, "e1", "a"), change(gift, Status::redeemed, 2, "", "b"),
          change({999}, Status::opened, 3, "e2", "b")});
  constexpr ChangeOrder oldest = ChangeOrder::oldest_first;
  constexpr ChangeOrder newest = ChangeOrder::newest_first;
  const auto all = log().list({}, oldest, {}, 10);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_THAT(all[0].event_ids, ElementsAre("e1"));
  EXPECT_THAT(log().list({}, oldest, all[1].id, 10), SizeIs(1));
  EXPECT_THAT(log().list({}, oldest, {}, 2), SizeIs(2));
  EXPECT_EQ(log().list({}, newest, {}, 1).front().id, all[2].id);
  EXPECT_EQ(log().list({}, newest, all[1].id, 10).front().id, all[0].id);
  EXPECT_THAT(log().list({}, newest, all[0].id, 10), IsEmpty());
  EXPECT_THAT(log().list({gift, std::nullopt, false}, oldest, {}, 10), SizeIs(2));
  EXPECT_THAT(log().list({std::nullopt, "b", false}, oldest, {}, 10), SizeIs(2));
  const auto orphaned = log().list({std::nullopt, std::nullopt, true}, oldest, {}, 10);
  ASSERT_THAT(orphaned, SizeIs(1));
  EXPECT_TRUE(orphaned[0].orphaned);
  EXPECT_EQ(orphaned[0].transaction, TransactionId{999});
}

// SYNC-23
TEST_P(ChangeLogConformance, AConstantlyChangingGiftKeepsItsPlaceInTheQueue) {
  const TransactionId gift = one_gift();
  empty_queue();
  accept({change(gift, Status::opened, 10)});
  accept({change(gift, Status::redeemed, 500'000)});
  const auto claims = store_->sync.claim("test", 60'000, 10, kNow + 10);
  ASSERT_THAT(claims, SizeIs(1)) << "due since the first change";
  accept({change(gift, Status::refunded, 10)});
  const SyncClose done{claims[0], true, kNow, "", std::nullopt};
  store_->sync.close("test", std::span(&done, 1));
  EXPECT_THAT(store_->sync.claim("test", 60'000, 10, kNow + 10), SizeIs(1)) << "one came while it was synced";
}

TEST_P(ChangeLogConformance, ADebouncedGiftWaitsUntilTheEndOrAnotherChange) {
  const auto due = [&] {
    std::vector<TransactionId> ids;
    for (const SyncClaim& claim : store_->sync.claim("test", -1, 100, kNow)) ids.push_back(claim.transaction);
    return ids;
  };
  const TransactionId gift = one_gift();
  const TransactionId other = one_gift();
  const TransactionId failing = one_gift();
  empty_queue();
  accept({change(failing, Status::opened, 0)});
  const auto claims = store_->sync.claim("test", 60'000, 100, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  const SyncClose failed{claims[0], false, kNow + 50'000, "the CRM is down", std::nullopt};
  store_->sync.close("test", std::span(&failed, 1));

  const StatusChange waiting[] = {change(gift, Status::opened, 0), change(other, Status::opened, 0)};
  log().accept(waiting, 60'000);
  EXPECT_THAT(due(), IsEmpty());
  accept({change(other, Status::redeemed, 0)});
  EXPECT_THAT(due(), ElementsAre(other)) << "a change without debouncing makes it due";
  store_->sync.end_debounce(kNow);
  EXPECT_THAT(due(), UnorderedElementsAre(gift, other)) << "and a retry waits for its time";
}

TEST_P(ChangeLogConformance, StoresTheConflictFlagOfAGift) {
  const TransactionId gift = one_gift();
  const TransactionId other = one_gift();
  FoldedState state{gift, 1, Status::redeemed, {}, true};
  state.times[Status::sent] = kNow;
  state.times[Status::redeemed] = kNow;
  store_->sync.save_folded(std::span(&state, 1));
  EXPECT_THAT(store_->gifts.list_conflicting({}, 10), ElementsAre(gift));
  EXPECT_THAT(store_->gifts.list_conflicting(gift, 10), IsEmpty());
  const std::vector ids{gift, other};
  EXPECT_TRUE(store_->gifts.find(ids)[0].transaction.has_conflict);
  EXPECT_FALSE(store_->gifts.find(ids)[1].transaction.has_conflict);
}

}  // namespace
}  // namespace giftsync::store
