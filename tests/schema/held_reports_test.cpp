// Reports that are kept beside held changes, over every back end: none is lost, and none counts twice.
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

class HeldReportsConformance : public SourceBookGround {
 protected:
  /// Of a gift that is not known, with the report that is kept beside it.
  static SourceItem early(TransactionId id, Status status, std::int64_t after = 0) {
    SourceItem item = change(id, status, after);
    item.aside.report = R"({"id":"as it came"})";
    item.held_detail = "it tells no recipient";
    return item;
  }
  std::vector<std::string> held_transactions(const std::string& source = "vendor") {
    std::vector<std::string> transactions;
    for (const AsideReport& one : book().held_reports(source, 0, 10)) transactions.push_back(one.transaction);
    return transactions;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, HeldReportsConformance,
                         testing::Values(Dialect::sqlite, Dialect::postgresql), name_of_dialect);

TEST_P(HeldReportsConformance, AHeldChangeKeepsItsReportUntilItsGiftIsThere) {
  const TransactionId id{9'000'000'005};
  SourceReport message = report("vendor");
  message.items = {early({id.value + 1}, Status::opened), early(id, Status::redeemed, 9),
                   change({id.value + 2}, Status::opened)};
  const SourceReceipt receipt = book().accept(message);
  EXPECT_EQ(receipt.held, 3u);
  EXPECT_EQ(receipt.kept_aside, 0u) << "nothing is wrong with them";
  EXPECT_EQ(book().accept(message).repeated, 3u);
  const auto kept = book().held_reports("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(2)) << "once each, and none that has no use for one";
  EXPECT_EQ(kept[1].transaction, std::to_string(id.value));
  EXPECT_EQ(kept[1].reason, AsideReason::no_gift);
  EXPECT_EQ(kept[1].detail, "it tells no recipient");
  EXPECT_EQ(kept[1].report, R"({"id":"as it came"})");
  EXPECT_EQ(kept[1].received_at, kNow);
  EXPECT_THAT(book().aside("vendor", 0, 10), IsEmpty());
  EXPECT_THAT(book().aside_words(10), IsEmpty());
  EXPECT_EQ(standing().kept_aside, 0);
  EXPECT_EQ(book().discard_aside("vendor", std::nullopt), 0);

  message.items = {sent_elsewhere(id), early(id, Status::redeemed, 9)};
  EXPECT_EQ(book().accept(message).gifts, 1u);
  EXPECT_EQ(store().changes.release_held(kNow), 1);
  EXPECT_THAT(held_transactions(), ElementsAre(std::to_string(id.value + 1)));
}

TEST_P(HeldReportsConformance, AChangeThatWasHeldWithoutItsReportGetsItWhenItComesAgain) {
  const TransactionId id{9'000'000'006};
  SourceReport message = report("vendor");
  message.items = {change(id, Status::opened)};
  EXPECT_EQ(book().accept(message).held, 1u) << "as an older giftsync held it";
  message.items = {early(id, Status::opened)};
  EXPECT_EQ(book().accept(message).repeated, 1u);
  EXPECT_THAT(held_transactions(), SizeIs(1));

  const TransactionId known = own_gift();
  message = report();
  message.items = {early(known, Status::opened)};
  book().accept(message);
  EXPECT_EQ(book().accept(message).repeated, 1u);
  EXPECT_THAT(held_transactions(), SizeIs(1)) << "a repeat about a gift that is there is not held";
}

TEST_P(HeldReportsConformance, AReportBesideAHeldChangeCanMakeItsGiftLater) {
  const TransactionId id{9'000'000'007};
  SourceReport message = report("vendor");
  message.items = {early(id, Status::sent)};
  ASSERT_EQ(book().accept(message).held, 1u);
  SourceReport again = report("vendor");
  again.settled = {book().held_reports("vendor", 0, 1).front().id};
  again.items = {sent_elsewhere(id)};
  const SourceReceipt receipt = book().accept(again);
  EXPECT_EQ(receipt.gifts, 1u);
  EXPECT_EQ(receipt.repeated, 1u);
  EXPECT_THAT(held_transactions(), IsEmpty());
  EXPECT_THAT(store().changes.changes_of(std::span(&id, 1)), SizeIs(1));
}

TEST_P(HeldReportsConformance, AReportBesideAHeldChangeStaysWithAVoidedOneUntilItIsDiscarded) {
  const TransactionId id{9'000'000'008};
  SourceReport message = report("vendor");
  message.items = {early(id, Status::opened), early(id, Status::redeemed, 5)};
  ASSERT_EQ(book().accept(message).held, 2u);
  message.source = message.origin = "other";
  ASSERT_EQ(book().accept(message).held, 2u);
  const auto held = store().changes.list({id, "vendor", true}, ChangeOrder::oldest_first, std::nullopt, 10);
  ASSERT_THAT(held, SizeIs(2));
  for (const StatusChange& one : held) store().changes.void_change(one.id, {kNow, "admin", "wrong"});
  EXPECT_EQ(standing().held, 0);
  EXPECT_THAT(held_transactions(), SizeIs(2)) << "it may be restored";
  store().changes.restore_change(held[0].id, {kNow, "admin", "right"});
  EXPECT_EQ(standing().held, 1);
  EXPECT_EQ(store().changes.discard_held("vendor", kNow), 0);
  EXPECT_THAT(held_transactions(), SizeIs(2)) << "it was received later";
  EXPECT_EQ(store().changes.discard_held("vendor", kNow + 1), 1);
  EXPECT_THAT(held_transactions(), IsEmpty()) << "of what is voided too";
  EXPECT_THAT(held_transactions("other"), SizeIs(2));
  EXPECT_EQ(store().changes.discard_held("other", kNow + 1), 2);
  EXPECT_THAT(held_transactions("other"), IsEmpty());
}

TEST_P(HeldReportsConformance, WhatIsHeldOfAReadingThatIsWrongIsTakenBackWhenItsReportIsSettled) {
  const TransactionId id{9'000'000'012};
  SourceReport page = report("vendor");
  page.items = {early(id, Status::refunded, 9), early(id, Status::opened, 5)};
  ASSERT_EQ(book().accept(page).held, 2u);
  const auto kept = book().held_reports("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(2));
  SourceReport again = report("vendor");
  again.settled = {kept[0].id};
  again.items = {sent_elsewhere(id), change(id, Status::redeemed, 7)};
  EXPECT_EQ(book().accept(again).gifts, 1u);
  std::vector<std::pair<Status, UtcMillis>> history;
  for (const StatusChange& one : store().changes.history(id))
    history.emplace_back(one.status, one.occurred_at);
  EXPECT_THAT(history, ElementsAre(std::pair(Status::sent, kNow), std::pair(Status::opened, kNow + 5),
                                   std::pair(Status::redeemed, kNow + 7)))
      << "what came with it in one message and was read right stays";
  EXPECT_THAT(held_transactions(), SizeIs(1));
}

TEST_P(HeldReportsConformance, AReadingGoesWithItsTimeOfSendingAndOnlyWhenNoOtherReportIsReadSo) {
  const TransactionId id{9'000'000'013};
  SourceReport page = report("vendor");
  page.items = {early(id, Status::opened, 5), early(id, Status::opened, 5)};
  page.items[1].aside.digest = "told again, with another member";
  for (SourceItem& item : page.items) {
    item.sent = item.change;
    item.sent->status = Status::sent;
    item.sent->occurred_at = kNow - 5;
  }
  EXPECT_EQ(book().accept(page).held, 1u);
  EXPECT_EQ(standing().held, 2) << "opened and sent";
  const auto kept = book().held_reports("vendor", 0, 10);
  ASSERT_THAT(kept, SizeIs(2));
  SourceReport again = report("vendor");
  again.items = {early(id, Status::opened, 6)};
  again.items.front().aside.digest = kept[0].digest;
  again.settled = {kept[0].id};
  EXPECT_EQ(book().accept(again).held, 1u);
  EXPECT_EQ(standing().held, 3) << "the other one tells of the first two";
  again.items.front().aside.digest = kept[1].digest;
  again.settled = {kept[1].id};
  EXPECT_EQ(book().accept(again).repeated, 1u);
  EXPECT_EQ(standing().held, 1);
  ASSERT_THAT(store().changes.history(id), SizeIs(1));
  EXPECT_EQ(store().changes.history(id).front().occurred_at, kNow + 6);
  EXPECT_THAT(held_transactions(), SizeIs(2));
}

TEST_P(HeldReportsConformance, ARecordFollowsWhatIsTakenBackOfAGiftThatHasCome) {
  const TransactionId id{9'000'000'014};
  SourceReport page = report("vendor");
  page.items = {early(id, Status::redeemed, 9)};
  ASSERT_EQ(book().accept(page).held, 1u);
  page.items = {sent_elsewhere(id)};
  ASSERT_EQ(book().accept(page).gifts, 1u);
  EXPECT_THAT(store().changes.changes_of(std::span(&id, 1)), SizeIs(2)) << "it counts";
  sql("DELETE FROM sync_mark");
  SourceReport again = report("vendor");
  again.settled = {book().held_reports("vendor", 0, 1).front().id};
  again.items = {aside("refunded", AsideReason::may_set)};
  EXPECT_EQ(book().accept(again).kept_aside, 1u);
  EXPECT_THAT(store().changes.changes_of(std::span(&id, 1)), SizeIs(1));
  EXPECT_THAT(store().sync.claim("one", 1000, 10, kNow), SizeIs(1));
}

TEST_P(HeldReportsConformance, NothingIsReleasedOrForgottenBeforeItIsJudgedUnderTheSettingsOfNow) {
  const TransactionId id{9'000'000'015};
  SourceReport page = report("vendor");
  page.items = {early(id, Status::redeemed, 9)};
  ASSERT_EQ(book().accept(page).held, 1u);
  page.source = page.origin = "other";
  ASSERT_EQ(book().accept(page).held, 1u);
  page = report("vendor");
  book().begin_judging("vendor", "new mark");
  page.items = {sent_elsewhere(id)};
  ASSERT_EQ(book().accept(page).gifts, 1u);
  EXPECT_EQ(store().changes.release_held(kNow), 0);
  EXPECT_THAT(held_transactions(), SizeIs(1));
  book().end_judging("vendor", "old mark");
  EXPECT_EQ(store().changes.release_held(kNow), 0) << "other settings were in force";
  book().end_judging("vendor", "new mark");
  EXPECT_EQ(store().changes.release_held(kNow), 1);
  EXPECT_THAT(held_transactions(), IsEmpty());
  EXPECT_THAT(held_transactions("other"), SizeIs(1)) << "the gift is none of its own";
}

TEST_P(HeldReportsConformance, ReportsBesideHeldChangesTakeOnlyTheRoomThatIsLeft) {
  const TransactionId id{9'000'000'009};
  fill_aside(99'999);
  SourceReport message = report("vendor");
  message.items = {early(id, Status::opened), early({id.value + 1}, Status::opened)};
  const SourceReceipt receipt = book().accept(message);
  EXPECT_EQ(receipt.kind, Kind::taken);
  EXPECT_EQ(receipt.held, 2u) << "with and without its report";
  EXPECT_THAT(held_transactions(), SizeIs(1));
  message.items = {aside("one more")};
  EXPECT_EQ(book().accept(message).kind, Kind::taken) << "its place was not taken";
  EXPECT_EQ(standing().kept_aside, 100'000) << "without the one beside a held change";
  message.items = {aside("one too many")};
  EXPECT_EQ(book().accept(message).kind, Kind::full);
  message.items = {early(id, Status::opened)};
  message.items.front().held_detail = "it tells no time of sending";
  message.settled = {book().held_reports("vendor", 0, 1).front().id};
  EXPECT_EQ(book().accept(message).repeated, 1u);
  EXPECT_THAT(held_transactions(), SizeIs(1)) << "judging again needs no room";
}

TEST_P(HeldReportsConformance, ReportsBesideHeldChangesAreCountedInTheirIndexAlone) {
  if (GetParam() != Dialect::sqlite) GTEST_SKIP() << "a small table is scanned there";
  sql::Database database(database_->address());
  const std::string plan = database.read([](soci::session& session) {
    int ignored = 0;
    std::string detail;
    session << "EXPLAIN QUERY PLAN SELECT count(*) FROM source_aside WHERE source = 'vendor' AND reason = "
               "'no_gift'",
        soci::into(ignored), soci::into(ignored), soci::into(ignored), soci::into(detail);
    return detail;
  });
  EXPECT_THAT(plan, testing::HasSubstr("COVERING INDEX source_aside_held"));
}

TEST_P(HeldReportsConformance, AReportThatCannotBeAppliedTakesThePlaceOfItselfBesideAHeldChange) {
  SourceReport message = report("vendor");
  message.items = {early({9'000'000'010}, Status::opened)};
  ASSERT_EQ(book().accept(message).held, 1u);
  message.items.front().kept_aside = true;
  message.items.front().aside.reason = AsideReason::may_set;
  EXPECT_EQ(book().accept(message).kept_aside, 1u);
  EXPECT_THAT(held_transactions(), IsEmpty());
  EXPECT_EQ(standing().held, 0) << "its first reading is not applied any more";
  EXPECT_THAT(book().aside("vendor", 0, 10), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::schema
