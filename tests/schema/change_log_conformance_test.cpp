// The log of changes on every back end: voiding, restoring, listing, holding and discarding (design 3.1).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/schema/store_ground.h"

namespace giftsync::schema {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr UtcMillis kNow{1'800'000'000'000};
using Restored = RestoreOutcome::Kind;

class ChangeLogConformance : public StoreGround {
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
  /// Rows that only a test makes: `count` held changes of one source.
  void hold_many(const std::string& source, std::int64_t count) {
    sql::Database database(database_->address());
    database.write([&](soci::session& session) {
      session
          << "INSERT INTO change_log (id, source, transaction_id, status, occurred_at, received_at, held) "
             "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                 std::to_string(count) +
                 ") SELECT 1000000 + i, :source, 2000000 + i, 'opened', 1800000000000, 1800000000000, 1 FROM "
                 "n",
          soci::use(source);
    });
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ChangeLogConformance,
                         testing::Values(Dialect::sqlite, Dialect::postgresql), name_of_dialect);

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

TEST_P(ChangeLogConformance, AVoidedChangeStaysVoidedWhenItIsReportedAgain) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10, "e1")});
  empty_queue();
  const ChangeId id = log().history(gift).front().id;
  EXPECT_EQ(log().void_change(id, {kNow + 50, "ana", "wrong gift"}), VoidOutcome::voided);
  EXPECT_THAT(store_->sync.claim("test", 60'000, 100, kNow + 1'000'000), SizeIs(1))
      << "the record must follow";
  EXPECT_EQ(log().void_change(id, {kNow + 60, "bob", "again"}), VoidOutcome::was_voided);
  EXPECT_EQ(log().void_change({id.value + 100'000}, {kNow, "bob", ""}), VoidOutcome::unknown);
  EXPECT_THAT(accept({change(gift, Status::redeemed, 10, "e2")}), ElementsAre(AcceptOutcome::repeated));
  EXPECT_THAT(log().spans_of(std::span(&gift, 1)), IsEmpty());
  const auto history = log().history(gift);
  ASSERT_THAT(history, SizeIs(1));
  ASSERT_TRUE(history[0].voiding);
  EXPECT_EQ(history[0].voiding->by, "ana") << "the first voiding stands";
  EXPECT_EQ(history[0].voiding->reason, "wrong gift");
  EXPECT_EQ(history[0].voiding->at, kNow + 50);
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2"));
}

TEST_P(ChangeLogConformance, AChangeIsRestoredAsOftenAsItIsVoided) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10, "e1")});
  const ChangeId id = log().history(gift).front().id;
  EXPECT_EQ(log().restore_change(id, {kNow + 40, "bob", ""}).kind, Restored::was_not_voided);
  EXPECT_THAT(log().history(gift).front().reviews, IsEmpty());
  for (const std::int64_t after : {100, 200}) {
    EXPECT_EQ(log().void_change(id, {kNow + after, "ana", "wrong gift"}), VoidOutcome::voided);
    EXPECT_THAT(log().spans_of(std::span(&gift, 1)), IsEmpty());
    EXPECT_THAT(accept({change(gift, Status::redeemed, 10, "e2")}), ElementsAre(AcceptOutcome::repeated));
    empty_queue();
    EXPECT_EQ(store_->sync.counts().waiting, 0);
    EXPECT_EQ(log().restore_change(id, {kNow + after + 1, "bob", "it was right"}).kind, Restored::restored);
    EXPECT_EQ(store_->sync.counts().waiting, 1) << "the record must follow";
    EXPECT_EQ(log().restore_change(id, {kNow + after + 2, "eve", ""}).kind, Restored::was_not_voided);
    EXPECT_THAT(log().spans_of(std::span(&gift, 1)), SizeIs(1));
    EXPECT_THAT(accept({change(gift, Status::redeemed, 10, "e3")}), ElementsAre(AcceptOutcome::repeated));
  }
  const auto history = log().history(gift);
  ASSERT_THAT(history, SizeIs(1));
  EXPECT_FALSE(history[0].voiding);
  EXPECT_FALSE(history[0].held);
  EXPECT_THAT(history[0].event_ids, ElementsAre("e1", "e2", "e3"));
  const auto& reviews = history[0].reviews;
  ASSERT_THAT(reviews, SizeIs(4));
  EXPECT_EQ(reviews[2].kind, ReviewKind::voided);
  EXPECT_EQ(reviews[2].by, "ana");
  EXPECT_EQ(reviews[2].reason, "wrong gift");
  EXPECT_EQ(reviews[2].at, kNow + 200);
  EXPECT_EQ(reviews[3].kind, ReviewKind::restored);
  EXPECT_EQ(reviews[3].by, "bob");
  EXPECT_EQ(reviews[3].reason, "it was right");
  EXPECT_EQ(reviews[3].at, kNow + 201);
  EXPECT_THAT(log().list({}, ChangeOrder::oldest_first, {}, 10).front().reviews, SizeIs(4));
  EXPECT_EQ(log().restore_change({id.value + 100'000}, {kNow, "bob", ""}).kind, Restored::unknown);
}

TEST_P(ChangeLogConformance, KeepsAHundredEventIdsOfAChange) {
  const TransactionId gift = one_gift();
  const auto reports = [&](Status status, int first, int count) {
    std::vector<StatusChange> changes;
    for (int i = first; i < first + count; ++i)
      changes.push_back(change(gift, status, 10, "e" + std::to_string(i)));
    return changes;
  };
  const auto kept = [&](Status status) {
    std::size_t ids = 0;
    for (const StatusChange& one : log().history(gift)) {
      if (one.status == status) ids += one.event_ids.size();
    }
    return ids;
  };
  const auto together = accept(reports(Status::opened, 0, 150));
  ASSERT_THAT(together, SizeIs(150));
  EXPECT_EQ(together[0], AcceptOutcome::accepted);
  EXPECT_EQ(std::count(together.begin(), together.end(), AcceptOutcome::repeated), 149);
  EXPECT_EQ(kept(Status::opened), 100u);
  EXPECT_THAT(accept(reports(Status::opened, 200, 1)), ElementsAre(AcceptOutcome::repeated));
  EXPECT_EQ(kept(Status::opened), 100u);

  accept(reports(Status::redeemed, 0, 60));
  EXPECT_THAT(accept(reports(Status::redeemed, 60, 30)), Each(AcceptOutcome::repeated));
  EXPECT_EQ(kept(Status::redeemed), 90u);
  accept(reports(Status::redeemed, 60, 30));
  EXPECT_EQ(kept(Status::redeemed), 90u) << "each id once";
  accept(reports(Status::redeemed, 0, 93));
  EXPECT_EQ(kept(Status::redeemed), 93u) << "ids that are there already take no room of new ones";
  EXPECT_THAT(accept(reports(Status::redeemed, 90, 30)), Each(AcceptOutcome::repeated));
  EXPECT_EQ(kept(Status::redeemed), 100u);
  std::vector<StatusChange> mixed = reports(Status::redeemed, 200, 1);
  mixed.push_back(change(gift, Status::refunded, 20, "r1"));
  EXPECT_THAT(accept(mixed), ElementsAre(AcceptOutcome::repeated, AcceptOutcome::accepted));
  EXPECT_EQ(kept(Status::redeemed), 100u);
  EXPECT_EQ(kept(Status::refunded), 1u) << "another change has room of its own";
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
      ElementsAre(AcceptOutcome::accepted, AcceptOutcome::accepted, AcceptOutcome::repeated));
  EXPECT_THAT(log().history(gift), SizeIs(2));
}

TEST_P(ChangeLogConformance, AVoidedHeldChangeIsNotAppliedLater) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  accept({change(coming, Status::redeemed, 10)});
  EXPECT_EQ(log().void_change(log().history(coming).front().id, {kNow, "ana", ""}), VoidOutcome::voided);
  EXPECT_EQ(log().count_held(), 0);
  empty_queue();
  EXPECT_EQ(store_->sync.counts().waiting, 0) << "there is nothing to sync for a gift that is not there";
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(log().release_held(kNow), 0);
  EXPECT_THAT(log().spans_of(std::span(&coming, 1)), IsEmpty());
}

TEST_P(ChangeLogConformance, ARestoredChangeIsHeldUntilItsGiftAppears) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  accept({change(coming, Status::redeemed, 10)});
  const ChangeId id = log().history(coming).front().id;
  log().void_change(id, {kNow, "ana", ""});
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::held);
  EXPECT_EQ(log().count_held(), 1);
  EXPECT_TRUE(log().history(coming).front().held);
  EXPECT_EQ(log().restore_change(id, {kNow + 2, "bob", ""}).kind, Restored::was_not_voided);
  empty_queue();
  EXPECT_EQ(store_->sync.counts().waiting, 0) << "there is nothing to sync for a gift that is not there";
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(log().release_held(kNow), 1);
  EXPECT_THAT(log().spans_of(std::span(&coming, 1)), SizeIs(1));
}

TEST_P(ChangeLogConformance, AChangeThatWasVoidedWhileItWasHeldCountsOnceRestored) {
  const TransactionId known = one_gift();
  const TransactionId coming{known.value + 1};
  accept({change(coming, Status::redeemed, 10)});
  const ChangeId id = log().history(coming).front().id;
  log().void_change(id, {kNow, "ana", ""});
  ASSERT_EQ(one_gift(), coming);
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::restored);
  EXPECT_EQ(log().count_held(), 0);
  EXPECT_THAT(log().spans_of(std::span(&coming, 1)), SizeIs(1));
}

TEST_P(ChangeLogConformance, WhatASourceSaidOfItsOwnGiftIsRestoredAsThat) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10, "", "vendor")});  // its setting said "own" by mistake
  const ChangeId id = log().history(gift).front().id;
  log().void_change(id, {kNow, "ana", ""});
  sql::Database database(database_->address());
  database.write(
      [&](soci::session& session) { session << "UPDATE recipient_transaction SET origin = 'vendor'"; });
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::restored);
  EXPECT_THAT(log().spans_of(std::span(&gift, 1)), SizeIs(1)) << "it counts";
}

TEST_P(ChangeLogConformance, AChangeOfAnothersGiftStaysVoided) {
  const TransactionId gift = one_gift();
  accept({change(gift, Status::redeemed, 10)});
  const ChangeId id = log().history(gift).front().id;
  log().void_change(id, {kNow, "ana", ""});
  const auto give_to = [&](const std::string& origin) {
    sql::Database database(database_->address());
    database.write([&](soci::session& session) {
      session << "UPDATE recipient_transaction SET origin = :origin", soci::use(origin);
    });
  };
  give_to("vendor");
  const RestoreOutcome refused = log().restore_change(id, {kNow + 1, "bob", ""});
  EXPECT_EQ(refused.kind, Restored::other_origin);
  EXPECT_EQ(refused.gift_of, "vendor");
  EXPECT_EQ(refused.transaction, gift);
  EXPECT_TRUE(log().history(gift).front().voiding);
  EXPECT_THAT(log().history(gift).front().reviews, SizeIs(1));
  give_to(std::string(kAdoptedOrigin));
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::restored)
      << "an adopted gift is anybody's";
}

TEST_P(ChangeLogConformance, ARestoredChangeIsHeldOnlyWhileThereIsRoom) {
  hold_many("flood", kMaxHeldChanges - 1);
  accept({change({77}, Status::opened, 1, "e1", "flood")});
  const ChangeId id = log().history({77}).front().id;
  log().void_change(id, {kNow, "ana", ""});
  EXPECT_THAT(accept({change({78}, Status::opened, 1, "e1", "flood")}), ElementsAre(AcceptOutcome::held));
  const RestoreOutcome refused = log().restore_change(id, {kNow + 1, "bob", ""});
  EXPECT_EQ(refused.kind, Restored::too_many_held);
  EXPECT_EQ(refused.source, "flood");
  EXPECT_TRUE(log().history({77}).front().voiding);
  log().void_change(log().history({78}).front().id, {kNow, "ana", ""});
  EXPECT_EQ(log().restore_change(id, {kNow + 1, "bob", ""}).kind, Restored::held);
}

TEST_P(ChangeLogConformance, ASourceHoldsAtMostItsShare) {
  hold_many("flood", kMaxHeldChanges - 1);
  EXPECT_THAT(
      accept({change({77}, Status::opened, 1, "e1", "flood"), change({77}, Status::opened, 1, "e2", "flood"),
              change({78}, Status::opened, 1, "e1", "flood"),
              change({77}, Status::opened, 1, "e1", "other")}),
      ElementsAre(AcceptOutcome::held, AcceptOutcome::repeated, AcceptOutcome::too_many_held,
                  AcceptOutcome::held));
  EXPECT_THAT(accept({change({77}, Status::opened, 1, "e3", "flood")}), ElementsAre(AcceptOutcome::repeated))
      << "what is held already is no news, also when there is no room";
  const TransactionId gift = one_gift();
  EXPECT_THAT(accept({change(gift, Status::opened, 1, "", "flood")}), ElementsAre(AcceptOutcome::accepted))
      << "known gifts go on";
}

TEST_P(ChangeLogConformance, DiscardsHeldChangesOfOneSourceByAge) {
  hold_many("old", 12'000);
  const TransactionId gift = one_gift();
  accept({change({77}, Status::opened, 1'000'000, "e1", "old"),
          change({78}, Status::opened, 1, "e1", "other"), change(gift, Status::opened, 1, "e1", "old")});
  EXPECT_EQ(log().count_held("old", kNow + 1000), 12'000);
  EXPECT_EQ(log().discard_held("old", kNow + 1000), 12'000);
  EXPECT_EQ(log().discard_held("old", kNow + 1000), 0);
  EXPECT_EQ(log().count_held(), 2);
  EXPECT_THAT(log().history(gift), SizeIs(1)) << "only held ones are discarded";
  EXPECT_EQ(log().discard_held("old", kNow + 2'000'000), 1);
  EXPECT_THAT(accept({change({77}, Status::opened, 1'000'000, "e9", "old")}),
              ElementsAre(AcceptOutcome::held));
  EXPECT_THAT(log().history({77}).front().event_ids, ElementsAre("e9")) << "its old event ids went with it";
}

TEST_P(ChangeLogConformance, WhatIsDiscardedTakesItsReviewsAlong) {
  accept({change({77}, Status::opened, 1, "e1", "old")});
  const ChangeId id = log().history({77}).front().id;
  log().void_change(id, {kNow, "ana", ""});
  EXPECT_EQ(log().discard_held("old", kNow + 1000), 0) << "it is not held";
  ASSERT_EQ(log().restore_change(id, {kNow, "bob", ""}).kind, Restored::held);
  EXPECT_EQ(log().discard_held("old", kNow + 1000), 1);
  long long left = -1;
  sql::Database database(database_->address());
  database.read(
      [&](soci::session& session) { session << "SELECT count(*) FROM change_review", soci::into(left); });
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
  const auto held = log().list({std::nullopt, std::nullopt, true}, oldest, {}, 10);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_TRUE(held[0].held);
  EXPECT_EQ(held[0].transaction, TransactionId{999});
}

TEST_P(ChangeLogConformance, AGiftThatChangesAllTheTimeKeepsItsPlaceInTheQueue) {
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

TEST_P(ChangeLogConformance, AGiftRestsUntilItsRestEndsOrSomethingElseChangesIt) {
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

  const StatusChange resting[] = {change(gift, Status::opened, 0), change(other, Status::opened, 0)};
  log().accept(resting, 60'000);
  EXPECT_THAT(due(), IsEmpty());
  accept({change(other, Status::redeemed, 0)});
  EXPECT_THAT(due(), ElementsAre(other)) << "it changed for somebody who does not let it rest";
  store_->sync.end_rest(kNow);
  EXPECT_THAT(due(), UnorderedElementsAre(gift, other)) << "and a retry waits for its time";
}

TEST_P(ChangeLogConformance, KeepsTheContradictionsOfAGiftWithIt) {
  const TransactionId gift = one_gift();
  const TransactionId other = one_gift();
  FoldedState state{gift, 1, Status::redeemed, {}, true};
  state.times[Status::sent] = kNow;
  state.times[Status::redeemed] = kNow;
  store_->sync.save(std::span(&state, 1));
  EXPECT_THAT(store_->gifts.contradictory({}, 10), ElementsAre(gift));
  EXPECT_THAT(store_->gifts.contradictory(gift, 10), IsEmpty());
  const std::vector ids{gift, other};
  EXPECT_TRUE(store_->gifts.gifts(ids)[0].transaction.contradictory);
  EXPECT_FALSE(store_->gifts.gifts(ids)[1].transaction.contradictory);
}

}  // namespace
}  // namespace giftsync::schema
