// Payloads of orphaned changes, over every back end: none is lost, and none counts twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/schema/store/sources_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using Kind = IngestResult::Kind;

class OrphanedPayloads : public SourcesFixture {
 protected:
  /// A change of an unknown gift, with its payload.
  static InboundItem orphan(TransactionId id, Status status, std::int64_t after = 0) {
    InboundItem item = change(id, status, after);
    item.event.payload = R"({"id":"as it came"})";
    item.orphan_detail = "it has no recipient";
    return item;
  }
  std::vector<std::string> held_transactions(const std::string& source = "vendor") {
    std::vector<std::string> transactions;
    for (const UnappliedEvent& one : sources().orphaned_payloads(source, 0, 10))
      transactions.push_back(one.transaction);
    return transactions;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, OrphanedPayloads,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// SRC-12
TEST_P(OrphanedPayloads, KeepsThePayloadOfAnOrphanUntilItsGiftAppears) {
  const TransactionId id{9'000'000'005};
  InboundBatch message = report("vendor");
  message.items = {orphan({id.value + 1}, Status::opened), orphan(id, Status::redeemed, 9),
                   change({id.value + 2}, Status::opened)};
  const IngestResult receipt = sources().accept(message);
  EXPECT_EQ(receipt.orphaned, 3u);
  EXPECT_EQ(receipt.quarantined, 0u) << "nothing is wrong with them";
  EXPECT_EQ(sources().accept(message).duplicates, 3u);
  const auto payloads = sources().orphaned_payloads("vendor", 0, 10);
  ASSERT_THAT(payloads, SizeIs(2)) << "once each, and none that has no use for one";
  EXPECT_EQ(payloads[1].transaction, std::to_string(id.value));
  EXPECT_EQ(payloads[1].state, EventState::orphaned);
  EXPECT_EQ(payloads[1].reason, std::nullopt);
  EXPECT_EQ(payloads[1].detail, "it has no recipient");
  EXPECT_EQ(payloads[1].payload, R"({"id":"as it came"})");
  EXPECT_EQ(payloads[1].received_at, kNow);
  EXPECT_THAT(sources().list_quarantined("vendor", 0, 10), IsEmpty());
  EXPECT_THAT(sources().count_quarantined(""), IsEmpty());
  EXPECT_EQ(source_summary().quarantined, 0);
  EXPECT_EQ(sources().purge_quarantined("vendor", std::nullopt), 0);

  message.items = {external_gift(id), orphan(id, Status::redeemed, 9)};
  EXPECT_EQ(sources().accept(message).gifts, 1u);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 1);
  EXPECT_THAT(held_transactions(), ElementsAre(std::to_string(id.value + 1)));
}

TEST_P(OrphanedPayloads, StoresAMissingPayloadWhenTheEventIsRepeated) {
  const TransactionId id{9'000'000'006};
  InboundBatch message = report("vendor");
  message.items = {change(id, Status::opened)};
  EXPECT_EQ(sources().accept(message).orphaned, 1u) << "as an older giftsync orphaned it";
  message.items = {orphan(id, Status::opened)};
  EXPECT_EQ(sources().accept(message).duplicates, 1u);
  EXPECT_THAT(held_transactions(), SizeIs(1));

  const TransactionId known = own_gift();
  message = report();
  message.items = {orphan(known, Status::opened)};
  sources().accept(message);
  EXPECT_EQ(sources().accept(message).duplicates, 1u);
  EXPECT_THAT(held_transactions(), SizeIs(1)) << "a repeat about a gift that is there is not orphaned";
}

// SRC-13
TEST_P(OrphanedPayloads, AnOrphanedPayloadCanCreateItsGiftLater) {
  const TransactionId id{9'000'000'007};
  InboundBatch message = report("vendor");
  message.items = {orphan(id, Status::sent)};
  ASSERT_EQ(sources().accept(message).orphaned, 1u);
  InboundBatch again = report("vendor");
  again.reprocessed_ids = {sources().orphaned_payloads("vendor", 0, 1).front().id};
  again.items = {external_gift(id)};
  const IngestResult receipt = sources().accept(again);
  EXPECT_EQ(receipt.gifts, 1u);
  EXPECT_EQ(receipt.duplicates, 1u);
  EXPECT_THAT(held_transactions(), IsEmpty());
  EXPECT_THAT(store().changes.changes_of(std::span(&id, 1)), SizeIs(1));
}

// SRC-16
TEST_P(OrphanedPayloads, KeepsThePayloadOfAVoidedOrphanUntilItIsPurged) {
  const TransactionId id{9'000'000'008};
  InboundBatch message = report("vendor");
  message.items = {orphan(id, Status::opened), orphan(id, Status::redeemed, 5)};
  ASSERT_EQ(sources().accept(message).orphaned, 2u);
  message.source = message.gift_source = "other";
  ASSERT_EQ(sources().accept(message).orphaned, 2u);
  const auto orphaned =
      store().changes.list({id, "vendor", true}, ChangeOrder::oldest_first, std::nullopt, 10);
  ASSERT_THAT(orphaned, SizeIs(2));
  for (const StatusChange& one : orphaned) store().changes.void_change(one.id, {kNow, "admin", "wrong"});
  EXPECT_EQ(source_summary().orphaned, 0);
  EXPECT_THAT(held_transactions(), IsEmpty()) << "neither waits";
  for (const StatusChange& one : orphaned) store().changes.restore_change(one.id, {kNow, "admin", "right"});
  EXPECT_THAT(held_transactions(), SizeIs(2)) << "it was kept for that";
  store().changes.void_change(orphaned[1].id, {kNow, "admin", "wrong"});
  EXPECT_EQ(source_summary().orphaned, 1);
  EXPECT_EQ(store().changes.purge_orphaned("vendor", kNow), 0);
  EXPECT_THAT(held_transactions(), SizeIs(1)) << "it was received later";
  EXPECT_EQ(store().changes.purge_orphaned("vendor", kNow + 1), 1);
  EXPECT_THAT(held_transactions(), IsEmpty()) << "of what is voided too";
  EXPECT_THAT(held_transactions("other"), SizeIs(2));
  EXPECT_EQ(store().changes.purge_orphaned("other", kNow + 1), 2);
  EXPECT_THAT(held_transactions("other"), IsEmpty());
}

// SRC-13
TEST_P(OrphanedPayloads, AnEventWhoseChangeIsAppliedDoesNotWait) {
  const TransactionId id{9'000'000'011};
  InboundBatch page = report("vendor");
  page.items = {orphan(id, Status::opened, 5), orphan(id, Status::redeemed, 9)};
  ASSERT_EQ(sources().accept(page).orphaned, 2u);
  ASSERT_THAT(held_transactions(), SizeIs(2));
  sql("UPDATE change_log SET orphaned = 0 WHERE status = 'opened'");
  EXPECT_THAT(held_transactions(), SizeIs(1));
}

TEST_P(OrphanedPayloads, ReprocessingWithdrawsWronglyDerivedOrphans) {
  const TransactionId id{9'000'000'012};
  InboundBatch page = report("vendor");
  page.items = {orphan(id, Status::refunded, 9), orphan(id, Status::opened, 5)};
  ASSERT_EQ(sources().accept(page).orphaned, 2u);
  const auto payloads = sources().orphaned_payloads("vendor", 0, 10);
  ASSERT_THAT(payloads, SizeIs(2));
  InboundBatch again = report("vendor");
  again.reprocessed_ids = {payloads[0].id};
  again.items = {external_gift(id), change(id, Status::redeemed, 7)};
  EXPECT_EQ(sources().accept(again).gifts, 1u);
  std::vector<std::pair<Status, UtcMillis>> history;
  for (const StatusChange& one : store().changes.history(id))
    history.emplace_back(one.status, one.occurred_at);
  EXPECT_THAT(history, ElementsAre(std::pair(Status::sent, kNow), std::pair(Status::opened, kNow + 5),
                                   std::pair(Status::redeemed, kNow + 7)))
      << "what came with it in one message and was read right stays";
  EXPECT_THAT(held_transactions(), SizeIs(1));
}

// SRC-56
TEST_P(OrphanedPayloads, WithdrawsDerivedChangesOnlyWhenNoOtherPayloadImpliesThem) {
  const TransactionId id{9'000'000'013};
  InboundBatch page = report("vendor");
  page.items = {orphan(id, Status::opened, 5), orphan(id, Status::opened, 5)};
  page.items[1].event.digest = "repeated with another member";
  for (InboundItem& item : page.items) {
    item.sent = item.change;
    item.sent->status = Status::sent;
    item.sent->occurred_at = kNow - 5;
  }
  EXPECT_EQ(sources().accept(page).orphaned, 1u);
  EXPECT_EQ(source_summary().orphaned, 2) << "opened and sent";
  const auto payloads = sources().orphaned_payloads("vendor", 0, 10);
  ASSERT_THAT(payloads, SizeIs(2));
  InboundBatch again = report("vendor");
  again.items = {orphan(id, Status::opened, 6)};
  again.items.front().event.digest = payloads[0].digest;
  again.reprocessed_ids = {payloads[0].id};
  EXPECT_EQ(sources().accept(again).orphaned, 1u);
  EXPECT_EQ(source_summary().orphaned, 3) << "the other source reports on the first two";
  again.items.front().event.digest = payloads[1].digest;
  again.reprocessed_ids = {payloads[1].id};
  EXPECT_EQ(sources().accept(again).duplicates, 1u);
  EXPECT_EQ(source_summary().orphaned, 1);
  ASSERT_THAT(store().changes.history(id), SizeIs(1));
  EXPECT_EQ(store().changes.history(id).front().occurred_at, kNow + 6);
  EXPECT_THAT(held_transactions(), SizeIs(2));
}

TEST_P(OrphanedPayloads, WithdrawingAChangeResyncsTheGift) {
  const TransactionId id{9'000'000'014};
  InboundBatch page = report("vendor");
  page.items = {orphan(id, Status::redeemed, 9)};
  ASSERT_EQ(sources().accept(page).orphaned, 1u);
  page.items = {external_gift(id)};
  ASSERT_EQ(sources().accept(page).gifts, 1u);
  EXPECT_THAT(store().changes.changes_of(std::span(&id, 1)), SizeIs(2)) << "it counts";
  sql("DELETE FROM crm_outbox");
  InboundBatch again = report("vendor");
  again.reprocessed_ids = {sources().orphaned_payloads("vendor", 0, 1).front().id};
  again.items = {quarantined("refunded", QuarantineReason::may_set)};
  EXPECT_EQ(sources().accept(again).quarantined, 1u);
  EXPECT_THAT(store().changes.changes_of(std::span(&id, 1)), SizeIs(1));
  EXPECT_THAT(store().sync.claim("one", 1000, 10, kNow), SizeIs(1));
}

// SRC-14
TEST_P(OrphanedPayloads, KeepsOrphansUntilReprocessingHasEnded) {
  const TransactionId id{9'000'000'015};
  InboundBatch page = report("vendor");
  page.items = {orphan(id, Status::redeemed, 9)};
  ASSERT_EQ(sources().accept(page).orphaned, 1u);
  page.source = page.gift_source = "other";
  ASSERT_EQ(sources().accept(page).orphaned, 1u);
  page = report("vendor");
  sources().begin_reprocessing("vendor", "new mark");
  page.items = {external_gift(id)};
  ASSERT_EQ(sources().accept(page).gifts, 1u);
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 0);
  EXPECT_THAT(held_transactions(), SizeIs(1));
  sources().end_reprocessing("vendor", "old mark");
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 0) << "other settings were in force";
  sources().end_reprocessing("vendor", "new mark");
  EXPECT_EQ(store().changes.apply_orphaned(kNow), 1);
  EXPECT_THAT(held_transactions(), IsEmpty());
  EXPECT_THAT(held_transactions("other"), SizeIs(1)) << "the gift is none of its own";
}

TEST_P(OrphanedPayloads, OrphanedPayloadsUseOnlyTheRemainingQuota) {
  const TransactionId id{9'000'000'009};
  fill_quarantine(99'999);
  InboundBatch message = report("vendor");
  message.items = {orphan(id, Status::opened), orphan({id.value + 1}, Status::opened)};
  const IngestResult receipt = sources().accept(message);
  EXPECT_EQ(receipt.kind, Kind::stored);
  EXPECT_EQ(receipt.orphaned, 2u) << "with and without its report";
  EXPECT_THAT(held_transactions(), SizeIs(1));
  message.items = {quarantined("one more")};
  EXPECT_EQ(sources().accept(message).kind, Kind::stored) << "its place was not taken";
  EXPECT_EQ(source_summary().quarantined, 100'000) << "without the one beside a orphaned change";
  message.items = {quarantined("one too many")};
  EXPECT_EQ(sources().accept(message).kind, Kind::over_limit);
  message.items = {orphan(id, Status::opened)};
  message.items.front().orphan_detail = "it tells no time of sending";
  message.reprocessed_ids = {sources().orphaned_payloads("vendor", 0, 1).front().id};
  EXPECT_EQ(sources().accept(message).duplicates, 1u);
  EXPECT_THAT(held_transactions(), SizeIs(1)) << "reprocessing works at the limit";
}

TEST_P(OrphanedPayloads, AQuarantinedEventReplacesItsOrphanedPayload) {
  InboundBatch message = report("vendor");
  message.items = {orphan({9'000'000'010}, Status::opened)};
  ASSERT_EQ(sources().accept(message).orphaned, 1u);
  message.items.front().quarantined = true;
  message.items.front().event.reason = QuarantineReason::may_set;
  EXPECT_EQ(sources().accept(message).quarantined, 1u);
  EXPECT_THAT(held_transactions(), IsEmpty());
  EXPECT_EQ(source_summary().orphaned, 0) << "its first reading is not applied any more";
  EXPECT_THAT(sources().list_quarantined("vendor", 0, 10), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::store
