// What sources report, over every back end: one transaction a message or page, whatever happens.
#include "schema/store/source_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "schema/sql/database.h"
#include "tests/schema/source_book_ground.h"

namespace giftsync::schema {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Kind = SourceReceipt::Kind;

class SourceBookConformance : public SourceBookGround {};

INSTANTIATE_TEST_SUITE_P(BackEnds, SourceBookConformance,
                         testing::Values(Dialect::sqlite, Dialect::postgresql), name_of_dialect);

TEST_P(SourceBookConformance, TakesChangesOnceUnderAMessageId) {
  const TransactionId id = own_gift();
  SourceReport message = report();
  message.items = {change(id, Status::opened), change(id, Status::opened), aside("strange")};
  message.ignored = 2;
  message.message_id = "msg_1";
  const SourceReceipt first = book().accept(message);
  EXPECT_EQ(first.kind, Kind::taken);
  EXPECT_EQ(first.accepted, 1u);
  EXPECT_EQ(first.repeated, 1u);
  EXPECT_EQ(first.kept_aside, 1u);
  EXPECT_EQ(book().accept(message).kind, Kind::replayed);
  message.source = "other";
  EXPECT_EQ(book().accept(message).kind, Kind::taken) << "each source has ids of its own";

  const SourceStanding row = standing();
  EXPECT_EQ(row.accepted, 1);
  EXPECT_EQ(row.repeated, 1);
  EXPECT_EQ(row.ignored, 2);
  EXPECT_EQ(row.kept_aside, 1);
  EXPECT_EQ(row.last_heard_at, kNow);
  const auto history = store().changes.history(id);
  ASSERT_THAT(history, SizeIs(2));
  EXPECT_EQ(history[0].source, "other");
  EXPECT_EQ(history[1].source, "vendor");

  book().prune_messages(kNow + 1);
  message.source = "vendor";
  EXPECT_EQ(book().accept(message).kind, Kind::taken) << "a forgotten id is taken again, and changes nothing";
  EXPECT_THAT(store().changes.history(id), SizeIs(2));
}

TEST_P(SourceBookConformance, CreatesAGiftThatWasSentElsewhereOnce) {
  const TransactionId id{9'000'000'001};
  SourceReport page = report("vendor");
  page.items = {sent_elsewhere(id), sent_elsewhere(id), change(id, Status::opened, 5)};
  const SourceReceipt receipt = book().accept(page);
  EXPECT_EQ(receipt.gifts, 1u);
  EXPECT_EQ(receipt.accepted, 2u);
  EXPECT_EQ(book().accept(page).gifts, 0u);
  const auto made = gift(id);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->transaction.origin, "vendor");
  EXPECT_EQ(made->transaction.phone, "+1 650 867 3450");
  EXPECT_EQ(made->request.mode, SendMode::external);
  EXPECT_EQ(made->request.gift, GiftId{42});
  EXPECT_EQ(made->request.costs.shipping, Money{495});
  EXPECT_EQ(made->request.sender_email, "rose@example.com");
  EXPECT_EQ(made->transaction.times[Status::sent], kNow);
  EXPECT_FALSE(store().deliveries.row(id)) << "nobody mails it";
  const auto claims = store().sync.claim("one", 1000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  EXPECT_EQ(claims.front().transaction, id);
  EXPECT_EQ(standing().gifts, 1);
}

TEST_P(SourceBookConformance, TheTimeOfSendingBesideAChangeIsAChangeThatIsNotCounted) {
  const TransactionId id{9'000'000'001};
  SourceReport page = report("vendor");
  page.items = {sent_elsewhere(id), change(id, Status::opened)};
  page.items.back().sent = page.items.front().change;
  page.items.back().sent->occurred_at = kNow - 5;
  EXPECT_EQ(book().accept(page).accepted, 2u);
  const auto again = book().accept(page);
  EXPECT_EQ(again.accepted, 0u);
  EXPECT_EQ(again.repeated, 2u);
  std::vector<std::pair<Status, UtcMillis>> history;
  for (const StatusChange& one : store().changes.history(id)) {
    history.emplace_back(one.status, one.occurred_at);
    EXPECT_EQ(one.source, "vendor");
    EXPECT_EQ(one.origin, "vendor");
  }
  ASSERT_THAT(history, SizeIs(3));
  EXPECT_EQ(history.front(), std::pair(Status::sent, kNow - 5));
}

TEST_P(SourceBookConformance, ChangesApplyToTransactionsOfTheirOriginOnly) {
  const TransactionId own = own_gift();
  const TransactionId external{9'000'000'002};
  SourceReport page = report("vendor");
  page.items = {sent_elsewhere(external), change(own, Status::redeemed), sent_elsewhere(own)};
  const SourceReceipt receipt = book().accept(page);
  EXPECT_EQ(receipt.gifts, 1u);
  ASSERT_THAT(receipt.collisions, SizeIs(2));
  EXPECT_EQ(receipt.collisions[0],
            "transaction " + std::to_string(own.value) +
                " is a gift that giftsync sent, and this source reports on gifts of its own; if it is to "
                "report on giftsync's, set transactions: own");
  EXPECT_EQ(gift(own)->transaction.origin, "");
  EXPECT_THAT(store().changes.history(own), IsEmpty());
  ASSERT_THAT(book().aside("vendor", 0, 10), SizeIs(2));
  EXPECT_EQ(book().aside("vendor", 0, 10).front().reason, AsideReason::other_origin);

  SourceReport own_report = report();
  own_report.source = "other";
  own_report.items = {change(external, Status::redeemed)};
  EXPECT_THAT(book().accept(own_report).collisions,
              ElementsAre("transaction 9000000002 belongs to source vendor: the gifts of a source go by its "
                          "name; if vendor was renamed to other, give it its old name back"));

  SourceReport not_external_any_more = report();
  not_external_any_more.items = {change(external, Status::opened)};
  EXPECT_THAT(
      book().accept(not_external_any_more).collisions,
      ElementsAre("transaction 9000000002 is this source's own, from when it had transactions: external; "
                  "set that again"));
}

TEST_P(SourceBookConformance, HeldChangesAreReleasedByTheirOwnOriginAlone) {
  const TransactionId next{own_gift().value + 1};
  SourceReport page = report("vendor");
  page.items = {change(next, Status::redeemed)};
  EXPECT_EQ(book().accept(page).held, 1u);
  ASSERT_EQ(own_gift(), next);
  EXPECT_EQ(store().changes.release_held(kNow), 0);
  EXPECT_THAT(store().changes.changes_of(std::span(&next, 1)), IsEmpty()) << "nor is it folded meanwhile";
  EXPECT_EQ(standing().held, 1);
  EXPECT_EQ(store().changes.discard_held("vendor", kNow + kDayMillis), 1);
  EXPECT_EQ(standing().held, 0);

  const TransactionId external{9'000'000'003};
  page.items = {change(external, Status::redeemed, 9)};
  EXPECT_EQ(book().accept(page).held, 1u);
  page.items = {sent_elsewhere(external)};
  EXPECT_EQ(book().accept(page).gifts, 1u);
  EXPECT_EQ(store().changes.release_held(kNow), 1);
  EXPECT_THAT(store().changes.changes_of(std::span(&external, 1)), SizeIs(2));
}

TEST_P(SourceBookConformance, HeldChangesFollowTheCorrectionOfTheirSourcesOrigin) {
  const TransactionId external{9'000'000'004};
  SourceReport page = report();  // "transactions: own", by mistake
  page.items = {change(external, Status::redeemed, 9)};
  EXPECT_EQ(book().accept(page).held, 1u);
  page.source = "other";
  page.items = {change(external, Status::opened, 8)};
  EXPECT_EQ(book().accept(page).held, 1u);
  book().open("vendor", "vendor", kNow);
  page = report("vendor");
  page.items = {sent_elsewhere(external), change(external, Status::redeemed, 9)};
  const SourceReceipt receipt = book().accept(page);
  EXPECT_EQ(receipt.gifts, 1u);
  EXPECT_EQ(receipt.repeated, 1u);
  EXPECT_EQ(store().changes.release_held(kNow), 1);
  EXPECT_THAT(store().changes.changes_of(std::span(&external, 1)), SizeIs(2)) << "sent and redeemed";
  EXPECT_EQ(standing().held, 0);
  EXPECT_EQ(standing("other").held, 1) << "the other source was not corrected";
}

TEST_P(SourceBookConformance, TwoWhoTellOfOneGiftAtOnceAreBothTaken) {
  Store second(database_->address());
  for (std::int64_t round = 0; round < 20; ++round) {
    const TransactionId first_id{9'100'000'000 + round * 100};
    const auto tell = [&](SourceBook& to, const std::string& message) {
      SourceReport page = report("vendor");
      for (std::int64_t i = 0; i < 50; ++i) page.items.push_back(sent_elsewhere({first_id.value + i}));
      page.message_id = message + std::to_string(round);
      return to.accept(page);
    };
    SourceReceipt theirs;
    std::thread other([&] { theirs = tell(second.sources, "b"); });
    SourceReceipt ours;
    EXPECT_NO_THROW(ours = tell(book(), "a"));
    other.join();
    EXPECT_EQ(ours.kind, Kind::taken);
    EXPECT_EQ(theirs.kind, Kind::taken);
    EXPECT_EQ(ours.gifts + theirs.gifts, 50u);
    EXPECT_EQ(ours.accepted + theirs.accepted, 50u);
  }
}

TEST_P(SourceBookConformance, OwnIdsGoAroundThoseOfOthers) {
  const TransactionId first = own_gift();
  SourceReport page = report("vendor");
  // Some in the block of ids that is being given out, some in the next one.
  for (const std::int64_t ahead : {1, 2, 5, 1500})
    page.items.push_back(sent_elsewhere({first.value + ahead}));
  EXPECT_EQ(book().accept(page).gifts, 4u);
  std::set<std::int64_t> ids;
  for (int i = 0; i < 4; ++i) ids.insert(own_gift().value);
  EXPECT_THAT(ids, SizeIs(4));
  for (const std::int64_t ahead : {1, 2, 5, 1500}) EXPECT_EQ(ids.count(first.value + ahead), 0u);
  EXPECT_EQ(store().gifts.highest_transaction_id()->value, *ids.rbegin()) << "only our own count";
}

TEST_P(SourceBookConformance, APollAdvancesWithItsChangesOrNotAtAll) {
  const TransactionId id = own_gift();
  const auto claim = book().claim("vendor", "one", 60'000, kNow);
  ASSERT_TRUE(claim);
  EXPECT_EQ(claim->position, "");
  EXPECT_FALSE(book().claim("vendor", "two", 60'000, kNow)) << "it is somebody's already";
  SourceReport page = report();
  page.items = {change(id, Status::opened)};
  page.advance = SourceReport::Advance{"one", claim->revision, "page 2"};
  EXPECT_EQ(book().accept(page).kind, Kind::taken);
  page.items = {change(id, Status::redeemed)};
  page.advance->position = "page 3";
  EXPECT_EQ(book().accept(page).kind, Kind::overtaken) << "the position was another one by then";
  page.advance = SourceReport::Advance{"two", claim->revision + 1, "page 3"};
  EXPECT_EQ(book().accept(page).kind, Kind::overtaken) << "it is not theirs";
  EXPECT_THAT(store().changes.history(id), SizeIs(1));
  book().rest("vendor", "one", {kNow + 5000, 0, std::nullopt});
  EXPECT_FALSE(book().claim("vendor", "two", 60'000, kNow + 4999));
  const auto again = book().claim("vendor", "two", 60'000, kNow + 5000);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->position, "page 2");
  EXPECT_EQ(again->revision, claim->revision + 1);
  book().break_lease("other", "two");
  book().break_lease("vendor", "one");
  EXPECT_FALSE(book().claim("vendor", "one", 60'000, kNow + 5000)) << "neither was this lease";
  book().break_lease("vendor", "two");
  EXPECT_TRUE(book().claim("vendor", "two", 60'000, kNow + 5000));
  book().break_leases("two");
  book().rest("vendor", "two", {kNow + 99'000, 7, "stale"});
  EXPECT_EQ(standing().position, "page 2") << "a lease that was broken ends nothing";
}

TEST_P(SourceBookConformance, ARewoundPollIsDueAtItsBeginningAndOvertakesWhoHasIt) {
  const auto claim = book().claim("vendor", "one", 60'000, kNow);
  ASSERT_TRUE(claim);
  SourceReport page = report();
  page.advance = SourceReport::Advance{"one", claim->revision, "page 2"};
  ASSERT_EQ(book().accept(page).kind, Kind::taken);
  EXPECT_TRUE(book().rewind("vendor"));
  page.advance = SourceReport::Advance{"one", claim->revision + 1, "page 3"};
  EXPECT_EQ(book().accept(page).kind, Kind::overtaken);
  book().rest("vendor", "one", {kNow + 99'000, 7, "page 3"});
  const auto again = book().claim("vendor", "one", 60'000, kNow);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->position, "");
  EXPECT_EQ(again->failures, 0);
  EXPECT_FALSE(book().rewind("nobody"));
}

TEST_P(SourceBookConformance, ALeaseThatRanOutIsTakenOver) {
  ASSERT_TRUE(book().claim("vendor", "one", -1000, kNow));
  EXPECT_TRUE(book().claim("vendor", "two", 60'000, kNow));
}

TEST_P(SourceBookConformance, WhatIsKeptAsideIsListedSettledAndDiscarded) {
  SourceReport message = report();
  message.items = {aside("viewed"), aside("seen"), aside("2099", AsideReason::time)};
  EXPECT_EQ(book().accept(message).kept_aside, 3u);
  EXPECT_EQ(book().accept(message).kept_aside, 0u) << "the same report is kept once";
  const auto words = book().aside_words(10);
  ASSERT_THAT(words, SizeIs(3));
  EXPECT_EQ(words.front().count, 1);

  const TransactionId id = own_gift();
  SourceReport settled = report();
  settled.items = {change(id, Status::opened)};
  settled.settled = {book().aside("vendor", 0, 1).front().id};
  EXPECT_EQ(book().accept(settled).accepted, 1u);
  EXPECT_THAT(book().aside("vendor", 0, 10), SizeIs(2));
  EXPECT_EQ(book().discard_aside("vendor", AsideReason::time), 1);
  EXPECT_EQ(book().discard_aside("vendor", std::nullopt), 1);
  EXPECT_THAT(book().aside("", 0, 10), IsEmpty());
}

TEST_P(SourceBookConformance, RefusesAReportWholeWhenTooMuchIsKept) {
  const TransactionId id = own_gift();
  fill_aside(100'000);
  SourceReport message = report();
  message.items = {change(id, Status::opened), aside("one more")};
  message.message_id = "msg_full";
  EXPECT_EQ(book().accept(message).kind, Kind::full);
  EXPECT_THAT(store().changes.history(id), IsEmpty());
  message.items.pop_back();
  EXPECT_EQ(book().accept(message).kind, Kind::taken)
      << "the message id was not used up, and other reports pass";
  message.source = "other";
  message.items = {aside("one more")};
  EXPECT_EQ(book().accept(message).kind, Kind::taken) << "other sources are not affected";
}

TEST_P(SourceBookConformance, TellsOfWhichSourcesEverythingIsHeld) {
  SourceReport message = report();
  message.items = {change({9'000'000'011}, Status::opened)};
  ASSERT_EQ(book().accept(message).held, 1u);
  EXPECT_THAT(book().only_held(kNow), IsEmpty()) << "not so early";
  EXPECT_THAT(book().only_held(kNow + 1), ElementsAre("vendor"));
  message.items.front().change->occurred_at = kNow + 3;
  message.items.front().sent = message.items.front().change;
  message.items.front().sent->status = Status::sent;
  ASSERT_EQ(book().accept(message).held, 1u);
  EXPECT_THAT(book().only_held(kNow + 1), ElementsAre("vendor"));
  message.items = {change(own_gift(), Status::opened)};
  ASSERT_EQ(book().accept(message).accepted, 1u);
  EXPECT_THAT(book().only_held(kNow + 1), IsEmpty()) << "though one report made two held changes";
}

TEST_P(SourceBookConformance, NotesHowASourceStands) {
  EXPECT_EQ(standing().state, "new");
  book().note_state("vendor", "fails", "it is down", kNow + 1);
  book().note_state("vendor", "fails", "it is still down", kNow + 2);
  EXPECT_EQ(standing().state_since, kNow + 1);
  EXPECT_EQ(standing().reason, "it is still down");
  book().note_state("vendor", "works", "", kNow + 3);
  EXPECT_EQ(standing().state_since, kNow + 3);
  book().add_refused("vendor", 7);
  EXPECT_EQ(standing().refused, 7);
  book().open("vendor", "", kNow + 9);
  EXPECT_EQ(standing().state, "works") << "opening again changes nothing";
  EXPECT_EQ(standing("other").state, "new");
}

TEST_P(SourceBookConformance, AWaitIsEndedOnlyAsItWasSeen) {
  ASSERT_TRUE(book().claim("vendor", "one", 60'000, kNow));
  book().rest("vendor", "one", {kNow + 99'000, 7, "page 2"});
  const std::vector<SourceWait> waits = book().waits();
  ASSERT_THAT(waits, SizeIs(2)) << "the other one is due";
  EXPECT_EQ(waits[1].name, "vendor");
  EXPECT_EQ(waits[1].due_at, kNow + 99'000);
  EXPECT_EQ(waits[1].failures, 7);
  EXPECT_EQ(waits[1].position, "page 2");
  SourceWait other = waits[1];
  other.due_at = kNow + 98'000;
  EXPECT_FALSE(book().end_wait(other, kNow)) << "somebody has polled since";
  EXPECT_TRUE(book().end_wait(waits[1], kNow));
  EXPECT_TRUE(book().claim("vendor", "one", 21'600'000, kNow));
  book().cut_leases(60'000);
  EXPECT_FALSE(book().claim("vendor", "two", 60'000, kNow)) << "who has the lease may be at work still";
  book().cut_leases(-1);
  EXPECT_TRUE(book().claim("vendor", "two", 60'000, kNow));
}

}  // namespace
}  // namespace giftsync::schema
