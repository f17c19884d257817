// Reconciliation of gift records: missing, drifted, deleted and pre-existing records.
#include "tests/support/backfill_fixture.h"

namespace giftsync::sync {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = ReconciliationFinding::Kind;

class CrmReconciliation : public tests::BackfillFixture {
 protected:
  /// All batches, with the sync steps that they need.
  std::map<std::int64_t, ReconciliationFinding> reconcile_all(bool dry_run = false, bool recreate = false) {
    std::map<std::int64_t, ReconciliationFinding> found;
    TransactionId after{0};
    for (bool done = false; !done;) {
      const ReconciliationBatch batch =
          reconcile_gift_records(*store_, *crm_, {rules_, recreate, dry_run}, after, tests::kNow + 1);
      for (const ReconciliationFinding& finding : batch.findings) found[finding.transaction.value] = finding;
      if (!dry_run) sync();
      EXPECT_TRUE(batch.done || batch.last > after) << "each batch makes progress";
      after = batch.last;
      done = batch.done;
    }
    return found;
  }
  /// Everything that a run could change.
  std::string state() {
    return scalar("SELECT sum(version) FROM recipient_transaction") + " " +
           scalar("SELECT sum(record_version) FROM crm_gift_record") + " " +
           scalar("SELECT count(*) FROM change_log") + " " + scalar("SELECT count(*) FROM crm_outbox") + " " +
           scalar("SELECT count(*) FROM crm_sync_state WHERE state = 'written'") + " " +
           scalar("SELECT count(*) FROM crm_gift_record");
  }
};

class ExternalCrmReconciliation : public CrmReconciliation {};
class ManagedCrmReconciliation : public CrmReconciliation {};

INSTANTIATE_TEST_SUITE_P(BackEnds, CrmReconciliation, crm::all_crms(), crm::name_of_crm);
INSTANTIATE_TEST_SUITE_P(BackEnds, ManagedCrmReconciliation, crm::managed_crms(), crm::name_of_crm);
INSTANTIATE_TEST_SUITE_P(BackEnds, ExternalCrmReconciliation,
                         testing::Values(crm::CrmUnderTest::external_sqlite,
                                         crm::CrmUnderTest::external_postgresql),
                         crm::name_of_crm);

TEST_P(CrmReconciliation, CorrectRecordIsUnchanged) {
  const auto gift = send("ada@example.com");
  sync();
  const std::string before = state();
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::unchanged);
  EXPECT_EQ(state(), before);
}

// SYNC-5
TEST_P(CrmReconciliation, OwnedFieldsAreRepairedAndOthersReported) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5000);
  sync();
  set(gift.value,
      "recipienttransactionstatus = 'lost', opened_date_time = NULL, item_cost = '9.99', name = 'Mine', "
      "description = 'Edited by hand'");
  const ReconciliationFinding seen = reconcile_all(true).at(gift.value);
  EXPECT_EQ(seen.kind, Kind::repaired);
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "lost") << "a dry run writes nothing";
  const ReconciliationFinding found = reconcile_all().at(gift.value);
  EXPECT_THAT(found.repaired, SizeIs(3));
  EXPECT_THAT(found.differences, SizeIs(2));
  EXPECT_EQ(found.repaired.back().field, GiftField::status);
  EXPECT_EQ(found.repaired.back().in_crm, "lost");
  EXPECT_EQ(found.repaired.back().wanted, "opened");
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened");
  EXPECT_EQ(record(gift.value, "opened_date_time"), to_rfc3339(tests::kNow + 5000));
  EXPECT_EQ(record(gift.value, "item_cost"), "5.00");
  EXPECT_EQ(record(gift.value, "name"), "Mine");
  EXPECT_EQ(record(gift.value, "description"), "Edited by hand");
  const std::string before = state();
  const ReconciliationFinding again = reconcile_all().at(gift.value);
  EXPECT_EQ(again.kind, Kind::unchanged);
  EXPECT_THAT(again.differences, SizeIs(2));
  EXPECT_EQ(state(), before) << "a second run changes nothing";
}

// OPS-37
TEST_P(ManagedCrmReconciliation, TheLinkOfAGiftFromBeforeARotationIsNotCompared) {
  const auto gift = send("ada@example.com");
  sync();
  set(gift.value, "recipienttransactionlink = 'https://gifts.test/g/former'");
  rules_.links_since = tests::kNow + 1;
  EXPECT_THAT(reconcile_all().at(gift.value).differences, IsEmpty());
  rules_.links_since = tests::kNow;
  EXPECT_THAT(reconcile_all().at(gift.value).differences, SizeIs(1));
  EXPECT_EQ(record(gift.value, "recipienttransactionlink"), "https://gifts.test/g/former") << "it stays";
}

// SYNC-48
TEST_P(CrmReconciliation, SentAtIsRepairedAndWholeSecondsAreAccepted) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5678);
  sync();
  for (const std::int64_t whole : {5000, 6000}) {
    set(gift.value, "opened_date_time = '" + to_rfc3339(tests::kNow + whole) + "'");
    EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::unchanged) << whole;
  }
  set(gift.value, "opened_date_time = '" + to_rfc3339(tests::kNow + 5677) +
                      "', recipienttransactioncreatedat = '2020-01-01T00:00:00.000Z'");
  EXPECT_THAT(reconcile_all().at(gift.value).repaired, SizeIs(2));
  EXPECT_EQ(record(gift.value, "opened_date_time"), to_rfc3339(tests::kNow + 5678));
  EXPECT_EQ(record(gift.value, "recipienttransactioncreatedat"), to_rfc3339(tests::kNow));
}

// SYNC-55
TEST_P(CrmReconciliation, DifferentSentAtOfAdoptedRecordIsReportedOnly) {
  old_record(900, ", recipienttransactionstatus", ", 'sent'");
  reconcile_all();
  sync();
  EXPECT_THAT(reconcile_all().at(900).differences, IsEmpty());
  set(900, "recipienttransactioncreatedat = '2019-01-01T00:00:00.000Z'");
  for (int run = 0; run < 2; ++run) {
    const ReconciliationFinding found = reconcile_all().at(900);
    EXPECT_EQ(found.kind, Kind::unchanged);
    ASSERT_THAT(found.differences, SizeIs(1)) << run;
    EXPECT_EQ(found.differences.front().field, GiftField::sent_at);
    sync();
    EXPECT_EQ(record(900, "recipienttransactioncreatedat"), "2019-01-01T00:00:00.000Z");
  }
  set(900, "recipienttransactioncreatedat = NULL");
  EXPECT_THAT(reconcile_all().at(900).differences, IsEmpty());
}

TEST_P(ManagedCrmReconciliation, RecordWithHigherVersionIsRepaired) {
  const auto gift = send("ada@example.com");
  sync();
  set(gift.value, "recipienttransactionstatus = 'redeemed', record_version = 700");
  reconcile_all();
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "sent");
  EXPECT_EQ(record(gift.value, "record_version"), "701");
}

TEST_P(CrmReconciliation, DeletedRecordsAreReportedAndRecreatedOnRequestOnly) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::redeemed, 7000);
  sync();
  sql("DELETE FROM crm_gift_record");
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::deleted_in_crm);
  EXPECT_EQ(scalar("SELECT state FROM crm_sync_state"), "deleted");
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::deleted_in_crm);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  EXPECT_EQ(reconcile_all(true, true).at(gift.value).kind, Kind::recreated);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  EXPECT_EQ(reconcile_all(false, true).at(gift.value).kind, Kind::recreated);
  EXPECT_EQ(record(gift.value, "redeemed_date_time"), to_rfc3339(tests::kNow + 7000))
      << "with its whole history";
  EXPECT_EQ(reconcile_all(false, true).at(gift.value).kind, Kind::unchanged);
}

// covers: GUARD-18
TEST_P(CrmReconciliation, AnotherCrmGetsNoRecordOfAnErasedPerson) {
  const auto gift = send("ada@example.com");
  sync();
  sql("UPDATE recipient_transaction SET email = 'erased:0123456789abcdef01234567', first_name = 'erased'");
  sql("DELETE FROM crm_gift_record");
  const bool keeps_people = crm_->person_rows() != nullptr;
  EXPECT_EQ(reconcile_all(true, true).at(gift.value).kind, keeps_people ? Kind::recreated : Kind::unchanged);
  EXPECT_EQ(reconcile_all(false, true).at(gift.value).kind, keeps_people ? Kind::recreated : Kind::unchanged);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), keeps_people ? "1" : "0");
}

TEST_P(CrmReconciliation, RestoredRecordIsSyncedAgain) {
  const auto gift = send("ada@example.com");
  sync();
  sql("CREATE TABLE bin AS SELECT id, recipienttransactionid, recipient_email FROM crm_gift_record");
  sql("DELETE FROM crm_gift_record");
  reconcile_all();
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email) SELECT id, "
      "recipienttransactionid, recipient_email FROM bin");
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::repaired);
  EXPECT_EQ(scalar("SELECT state FROM crm_sync_state"), "written");
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "sent");
}

// SYNC-57
TEST_P(CrmReconciliation, SkippedGiftsGetARecordWhenSettingsAllow) {
  rules_.skip_unmatched = true;
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5000);
  sync();
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::skipped);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  rules_.skip_unmatched = false;
  EXPECT_EQ(reconcile_all(true).at(gift.value).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::created);
  EXPECT_EQ(record(gift.value, "opened_date_time"), to_rfc3339(tests::kNow + 5000));
  EXPECT_EQ(reconcile_all().at(gift.value).kind, Kind::unchanged);
}

TEST_P(CrmReconciliation, QueuedGiftIsLeftToTheSyncStep) {
  const auto gift = send("ada@example.com");
  EXPECT_EQ(reconcile_all(true).at(gift.value).kind, Kind::queued);
  sync();
  report(gift.value, Status::opened, 5000);
  EXPECT_EQ(reconcile_all(true).at(gift.value).kind, Kind::queued);
}

// SYNC-19
TEST_P(CrmReconciliation, IdConflictWithUnknownRecordIsReported) {
  const auto gift = send("ada@example.com");
  old_record(gift.value, ", recipienttransactionstatus", ", 'opened'");
  EXPECT_EQ(reconcile_all(true).at(gift.value).kind, Kind::queued) << "not tried yet";
  sync();
  const std::string before = state();
  for (const bool dry_run : {true, false, false}) {
    const ReconciliationFinding found = reconcile_all(dry_run).at(gift.value);
    EXPECT_EQ(found.kind, Kind::id_conflict);
    EXPECT_THAT(found.detail, HasSubstr("Give it another Transaction Id in the CRM"));
    EXPECT_EQ(state(), before);
  }
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened") << "it is left as it is";
  set(gift.value, "recipienttransactionid = 900");
  EXPECT_EQ(reconcile_all(true).at(gift.value).kind, Kind::queued)
      << "the sync worker creates it with its next attempt";
}

/// SQLite's columns accept any value.
class UntypedColumnReconciliation : public CrmReconciliation {};
INSTANTIATE_TEST_SUITE_P(BackEnds, UntypedColumnReconciliation,
                         testing::Values(crm::CrmUnderTest::managed_sqlite,
                                         crm::CrmUnderTest::external_sqlite),
                         crm::name_of_crm);

// SYNC-28
TEST_P(UntypedColumnReconciliation, UnreadableOwnedFieldsAreRepairedAndDoNotBlockOthers) {
  const auto ada = send("ada@example.com");
  const auto bob = send("bob@example.com");
  report(ada.value, Status::opened, 5000);
  sync();
  set(ada.value,
      "recipienttransactionprice = '$5.50', opened_date_time = 'yesterday', delivered_date_time = ''");
  const ReconciliationFinding found = reconcile_all().at(ada.value);
  EXPECT_EQ(found.kind, Kind::repaired);
  ASSERT_THAT(found.repaired, SizeIs(3));
  EXPECT_EQ(found.repaired[0].in_crm, "") << "an empty text is not a time";
  EXPECT_EQ(found.repaired[1].in_crm, "yesterday");
  EXPECT_EQ(found.repaired[2].in_crm, "$5.50");
  EXPECT_EQ(record(ada.value, "recipienttransactionprice"), "5.50");
  EXPECT_EQ(record(ada.value, "opened_date_time"), to_rfc3339(tests::kNow + 5000));
  EXPECT_EQ(record(ada.value, "delivered_date_time"), "null");
  EXPECT_EQ(reconcile_all().at(ada.value).kind, Kind::unchanged);
  EXPECT_EQ(reconcile_all().at(bob.value).kind, Kind::unchanged);
}

TEST_P(UntypedColumnReconciliation, EmptyTextIsNotANumber) {
  const auto ada = send("ada@example.com");
  sync();
  set(ada.value, "giftid = '', shipping_cost = ''");
  const ReconciliationFinding found = reconcile_all().at(ada.value);
  ASSERT_THAT(found.repaired, SizeIs(1));
  EXPECT_EQ(found.repaired[0].field, GiftField::shipping_cost);
  EXPECT_EQ(found.repaired[0].in_crm, "");
  EXPECT_EQ(found.repaired[0].wanted, "0.00");
  EXPECT_EQ(record(ada.value, "shipping_cost"), "0.00");
  ASSERT_THAT(found.differences, SizeIs(1)) << "an admin has to correct it";
  EXPECT_EQ(found.differences[0].field, GiftField::item_id);
  EXPECT_EQ(found.differences[0].in_crm, "");
  EXPECT_EQ(found.differences[0].wanted, "7");
  EXPECT_EQ(record(ada.value, "giftid"), "");
  EXPECT_EQ(reconcile_all().at(ada.value).kind, Kind::unchanged);
}

// SYNC-8
TEST_P(UntypedColumnReconciliation, EmptyTextEqualsUnknownPrice) {
  const auto ada = send("ada@example.com");
  sql("UPDATE gift_request SET shipping_cost = NULL");
  sync();
  set(ada.value, "shipping_cost = ''");
  const ReconciliationFinding found = reconcile_all().at(ada.value);
  EXPECT_EQ(found.kind, Kind::unchanged);
  EXPECT_THAT(found.differences, IsEmpty());
  set(ada.value, "shipping_cost = 'free'");
  EXPECT_THAT(reconcile_all().at(ada.value).differences, SizeIs(1));
}

// SYNC-73
TEST_P(UntypedColumnReconciliation, ARecordFromBeforeTheCampaignFieldIsNoDrift) {
  const auto ada = send("ada@example.com");
  sql("UPDATE gift_request SET utm_campaign_id = 'spring-2026'");
  sync();
  EXPECT_EQ(record(ada.value, "utm_campaign_id"), "spring-2026");
  set(ada.value, "utm_campaign_id = NULL");
  EXPECT_EQ(reconcile_all().at(ada.value).kind, Kind::unchanged);
  EXPECT_THAT(reconcile_all().at(ada.value).differences, IsEmpty());
  set(ada.value, "utm_campaign_id = 'autumn-2026'");
  const ReconciliationFinding found = reconcile_all().at(ada.value);
  ASSERT_THAT(found.differences, SizeIs(1));
  EXPECT_EQ(found.differences[0].wanted, "spring-2026");
}

TEST_P(UntypedColumnReconciliation, RecordIsAdoptedOnceReadable) {
  old_record(900, ", recipienttransactionstatus, opened_date_time", ", 'opened', '01/02/2024'");
  old_record(901, ", recipienttransactionstatus, redeemed_date_time", ", 'sent', ''");
  old_record(902, ", recipienttransactionstatus, giftid, shipping_cost", ", 'sent', '', ''");
  auto found = reconcile_all();
  EXPECT_EQ(found.at(900).kind, Kind::refused);
  EXPECT_THAT(found.at(900).detail, AllOf(HasSubstr("Opened Date/Time"), HasSubstr("01/02/2024")));
  EXPECT_EQ(record(900, "opened_date_time"), "01/02/2024") << "a manual value is kept";
  EXPECT_EQ(found.at(901).kind, Kind::adopted);
  EXPECT_EQ(record(901, "redeemed_date_time"), "null");
  EXPECT_EQ(found.at(902).kind, Kind::adopted);
  EXPECT_EQ(record(902, "giftid"), "") << "giftsync does not write this field";
  EXPECT_THAT(record(902, "record_version"), testing::AnyOf("0", "null"))
      << "the record is not written for it";
  set(900, "opened_date_time = '2024-01-02T00:00:00.000Z'");
  found = reconcile_all();
  EXPECT_EQ(found.at(900).kind, Kind::adopted);
  EXPECT_EQ(found.at(901).kind, Kind::unchanged);
}

TEST_P(CrmReconciliation, EmailComparisonIgnoresCase) {
  const auto ada = send("Ada@Example.com");
  sync();
  set(ada.value, "recipient_email = 'ada@example.com'");
  EXPECT_EQ(reconcile_all().at(ada.value).kind, Kind::unchanged);
  set(ada.value, "recipient_email = 'bob@example.com'");
  EXPECT_EQ(reconcile_all().at(ada.value).kind, Kind::repaired);
}

// SYNC-56
TEST_P(CrmReconciliation, DeadLookupsAreReportedAndListedForRematch) {
  sql("INSERT INTO crm_contact (id, email) VALUES ('c1', 'ada@example.com'), ('c2', 'bob@example.com')");
  const auto ada = send("ada@example.com");
  const auto bob = send("bob@example.com");
  sync();
  sql("DELETE FROM crm_contact WHERE id = 'c1'");
  const auto to_rematch = [&] {
    return store_->sync.list_states_to_rematch(store::RematchScope::needs_relink, {0},
                                               crm_->pace().rows_per_read);
  };
  ASSERT_THAT(reconcile_all(true).at(ada.value).missing_lookups, SizeIs(1));
  EXPECT_THAT(to_rematch(), IsEmpty()) << "a dry run writes nothing";
  for (int run = 0; run < 2; ++run) {
    const auto found = reconcile_all();
    EXPECT_EQ(found.at(ada.value).kind, Kind::unchanged);
    ASSERT_THAT(found.at(ada.value).missing_lookups, SizeIs(1));
    EXPECT_EQ(found.at(ada.value).missing_lookups.front().field, GiftField::recipient_contact);
    EXPECT_EQ(found.at(ada.value).missing_lookups.front().in_crm, "c1");
    EXPECT_THAT(found.at(bob.value).missing_lookups, IsEmpty());
    ASSERT_THAT(to_rematch(), SizeIs(1));
    EXPECT_EQ(to_rematch().front().transaction, ada);
    EXPECT_THAT(to_rematch().front().decision.warnings,
                HasSubstr("Recipient Contact c1 is not in the CRM any more"));
    EXPECT_EQ(record(ada.value, "recipientcontactid"), "c1") << "the record is not changed";
  }
}

// SYNC-52
TEST_P(CrmReconciliation, PreexistingRecordsAreAdopted) {
  old_record(900, ", recipienttransactionstatus, opened_date_time, item_cost, recipientcontactid, name",
             ", 'opened', '2020-01-02T00:00:00.000Z', '3.50', 'c9', 'An old one'");
  EXPECT_EQ(reconcile_all(true).at(900).kind, Kind::adopted);
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction"), "0");
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::adopted);
  const TransactionId id{900};
  const store::Gift gift = store_->gifts.find(std::span(&id, 1)).front();
  EXPECT_EQ(gift.transaction.gift_source, store::kAdoptedGiftSource);
  EXPECT_EQ(gift.transaction.status, Status::opened);
  EXPECT_EQ(gift.transaction.email, "old900@example.com");
  EXPECT_EQ(store_->sync.find_states(std::span(&id, 1)).front().decision.contact_id, "c9");
  const std::string before = state();
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::unchanged);
  EXPECT_EQ(state(), before);

  report(900, Status::redeemed, 0, "some_vendor");
  EXPECT_EQ(outcome_, store::AcceptOutcome::accepted) << "changes of every source apply";
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "redeemed");
  EXPECT_EQ(record(900, "redeemed_date_time"), to_rfc3339(tests::kNow));
  EXPECT_EQ(record(900, "opened_date_time"), "2020-01-02T00:00:00.000Z") << "the earlier value is kept";
  EXPECT_EQ(record(900, "item_cost"), "3.50");
  EXPECT_EQ(record(900, "recipienttransactionprice"), "null") << "its prices are never written";
  EXPECT_EQ(record(900, "name"), "An old one");
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::unchanged);
}

TEST_P(CrmReconciliation, AdoptedPriceWithoutPartsIsItemCost) {
  old_record(900, ", recipienttransactionstatus, recipienttransactionprice", ", 'sent', '5.50'");
  old_record(901, ", recipienttransactionstatus, recipienttransactionprice, item_cost, shipping_cost",
             ", 'sent', '5.50', '4.50', '1.00'");
  reconcile_all();
  const std::vector<TransactionId> ids{{900}, {901}};
  for (const store::Gift& gift : store_->gifts.find(ids)) {
    EXPECT_EQ(gift.request.costs.total(), Money{550});
    EXPECT_EQ(gift.request.costs.item, Money{gift.transaction.id.value == 900 ? 550 : 450});
  }
  report(900, Status::redeemed, 0);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionprice"), "5.50");
  EXPECT_EQ(record(900, "item_cost"), "null") << "parts are not invented in the CRM";
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::unchanged);
}

// SYNC-54
TEST_P(CrmReconciliation, TotalOfAdoptedRecordIsKept) {
  const std::string columns =
      ", recipienttransactionstatus, recipienttransactionprice, item_cost, shipping_cost";
  old_record(900, columns, ", 'sent', '9.00', '4.50', '1.00'");
  old_record(901, columns, ", 'sent', '9.00', NULL, '1.00'");
  old_record(902, columns, ", 'sent', '5.00', '4.50', '1.00'");
  old_record(903, columns, ", 'sent', '3.00', '4.50', '-5.00'");
  old_record(904, columns, ", 'sent', '3.00', '0.00', '0.00'");
  const auto found = reconcile_all();
  EXPECT_EQ(found.at(900).detail,
            "Total Price 9.00 is not the 5.50 of its parts: giftsync counts the other 3.50 as Transaction "
            "Fee.");
  EXPECT_THAT(found.at(901).detail, HasSubstr("counts the other 8.00 as Item Cost"));
  EXPECT_THAT(found.at(902).detail, HasSubstr("counts all of it as Item Cost"));
  EXPECT_THAT(found.at(903).detail, HasSubstr("counts the other 3.50 as Transaction Fee"));
  EXPECT_EQ(found.at(904).detail, "") << "a price without parts";
  const std::vector<TransactionId> ids{{900}, {901}, {902}, {903}, {904}};
  const std::vector<store::Gift> gifts = store_->gifts.find(ids);
  ASSERT_THAT(gifts, SizeIs(5));
  EXPECT_EQ(gifts[0].request.costs, (store::GiftCosts{Money{450}, Money{100}, std::nullopt, Money{350}}));
  EXPECT_EQ(gifts[1].request.costs, (store::GiftCosts{Money{800}, Money{100}, std::nullopt, std::nullopt}));
  EXPECT_EQ(gifts[2].request.costs, (store::GiftCosts{Money{500}, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(gifts[3].request.costs, (store::GiftCosts{Money{450}, Money{-500}, std::nullopt, Money{350}}));
  EXPECT_EQ(gifts[4].request.costs, (store::GiftCosts{Money{300}, Money{0}, std::nullopt, std::nullopt}));
  EXPECT_EQ(store_->sync.find_states(std::span(ids).first(1)).front().decision.warnings,
            found.at(900).detail);
  for (const auto& [id, again] : reconcile_all()) {
    EXPECT_EQ(again.kind, Kind::unchanged) << id;
    EXPECT_THAT(again.differences, IsEmpty()) << id;
  }
}

TEST_P(CrmReconciliation, DifferentTotalOfAdoptedRecordIsReportedOnly) {
  old_record(900, ", recipienttransactionstatus, recipienttransactionprice", ", 'sent', '5.50'");
  reconcile_all();
  set(900, "recipienttransactionprice = '9.00'");
  for (int run = 0; run < 2; ++run) {
    const ReconciliationFinding found = reconcile_all().at(900);
    EXPECT_EQ(found.kind, Kind::unchanged);
    ASSERT_THAT(found.differences, SizeIs(1)) << run;
    EXPECT_EQ(found.differences.front().field, GiftField::total_price);
    EXPECT_EQ(found.differences.front().in_crm, "9.00");
    EXPECT_EQ(found.differences.front().wanted, "5.50");
    EXPECT_EQ(record(900, "recipienttransactionprice"), "9.00");
  }
}

// STATUS-32
TEST_P(CrmReconciliation, AdoptedStatusWithoutTimeIsKept) {
  old_record(900, ", recipienttransactionstatus", ", 'Opened'");
  reconcile_all();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "opened") << "in giftsync's spelling";
  EXPECT_EQ(record(900, "opened_date_time"), "null") << "no time is invented";
  report(900, Status::delivered, 0);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "opened");
  EXPECT_EQ(record(900, "delivered_date_time"), to_rfc3339(tests::kNow));
  report(900, Status::expired, 0);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "expired");
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::unchanged);
}

// SYNC-53
TEST_P(CrmReconciliation, TimeFilledIntoAdoptedRecordIsImported) {
  old_record(900, ", recipienttransactionstatus", ", 'opened'");
  reconcile_all();
  set(900, "opened_date_time = '2020-01-02T00:00:00.000Z'");
  for (const bool dry_run : {true, false}) {
    const ReconciliationFinding found = reconcile_all(dry_run).at(900);
    EXPECT_EQ(found.kind, Kind::times_imported);
    ASSERT_THAT(found.imported_times, SizeIs(1));
    EXPECT_EQ(found.imported_times.front().in_crm, "2020-01-02T00:00:00.000Z");
    EXPECT_THAT(found.repaired, IsEmpty());
  }
  EXPECT_EQ(record(900, "opened_date_time"), "2020-01-02T00:00:00.000Z");
  EXPECT_EQ(scalar("SELECT source FROM change_log"), "crm");
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::unchanged);
}

TEST_P(CrmReconciliation, EffectsOfImportedTimesAreReported) {
  old_record(900, ", recipienttransactionstatus, donated_date_time",
             ", 'donated', '2020-01-05T00:00:00.000Z'");
  old_record(901, ", recipienttransactionstatus", ", 'sent'");
  reconcile_all();
  set(900, "redeemed_date_time = '2020-01-06T00:00:00.000Z', opened_date_time = '2020-01-04T00:00:00.000Z'");
  set(901, "opened_date_time = '2020-01-02T00:00:00.000Z'");
  for (const bool dry_run : {true, false}) {
    const auto found = reconcile_all(dry_run);
    const ReconciliationFinding& loser = found.at(900);
    EXPECT_EQ(loser.kind, Kind::repaired);
    ASSERT_THAT(loser.repaired, SizeIs(1));
    EXPECT_EQ(loser.repaired.front().field, GiftField::redeemed_time);
    EXPECT_EQ(loser.repaired.front().wanted, "") << "it was donated before";
    EXPECT_THAT(loser.detail, HasSubstr("is kept in the gift's history only"));
    ASSERT_THAT(loser.imported_times, SizeIs(1));
    EXPECT_EQ(loser.imported_times.front().field, GiftField::opened_time);
    const ReconciliationFinding& opened = found.at(901);
    EXPECT_EQ(opened.kind, Kind::repaired);
    ASSERT_THAT(opened.repaired, SizeIs(1));
    EXPECT_EQ(opened.repaired.front().field, GiftField::status);
    EXPECT_EQ(opened.repaired.front().wanted, "opened");
    EXPECT_THAT(opened.imported_times, SizeIs(1));
  }
  EXPECT_EQ(record(900, "redeemed_date_time"), "null");
  EXPECT_EQ(record(900, "opened_date_time"), "2020-01-04T00:00:00.000Z");
  EXPECT_EQ(record(901, "recipienttransactionstatus"), "opened");
  EXPECT_EQ(reconcile_all().at(900).kind, Kind::unchanged);
}

TEST_P(CrmReconciliation, UnknownStatusIsNotAdopted) {
  old_record(900, ", recipienttransactionstatus", ", 'Archived'");
  const ReconciliationFinding found = reconcile_all().at(900);
  EXPECT_EQ(found.kind, Kind::refused);
  EXPECT_THAT(found.detail, HasSubstr("Archived"));
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction"), "0");
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "Archived");
}

TEST_P(CrmReconciliation, OrphanedChangesApplyAfterAdoption) {
  report(900, Status::redeemed, 0, "some_vendor");
  EXPECT_EQ(outcome_, store::AcceptOutcome::orphaned);
  old_record(900, ", recipienttransactionstatus", ", 'sent'");
  reconcile_all();
  EXPECT_EQ(store_->changes.apply_orphaned(tests::kNow), 1);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "redeemed");
}

TEST_P(CrmReconciliation, ManyBatchesVisitEachGiftOnce) {
  constexpr std::int64_t kOld = 450;
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipienttransactionstatus) "
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450) "
      "SELECT 'o' || i, 3000 + 2 * i, 'sent' FROM n");
  std::vector<TransactionId> sent;
  for (int i = 0; i < 30; ++i) sent.push_back(send("a" + std::to_string(i) + "@example.com"));
  sync();
  const auto first = reconcile_all();
  EXPECT_THAT(first, SizeIs(kOld + 30));
  const auto adopted =
      std::count_if(first.begin(), first.end(), [](const auto& f) { return f.second.kind == Kind::adopted; });
  EXPECT_EQ(adopted, kOld);
  const std::string before = state();
  for (const auto& [id, finding] : reconcile_all()) EXPECT_EQ(finding.kind, Kind::unchanged) << id;
  EXPECT_EQ(state(), before);
}

// SYNC-44
TEST_P(ExternalCrmReconciliation, FieldsMissingInTheCrmAreNotCompared) {
  crm::external::ExternalCrmNames names = crm::external_crm_names();
  for (const char* field : {"Transaction_Fee", "Opened_Date_Time", "CreatedById", "OwnerId", "Description"})
    names.columns["gift_record." + std::string(field)] = "-";
  crm_ = make_crm(names);
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5000);
  sync();
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened");
  const std::string before = state();
  const ReconciliationFinding found = reconcile_all().at(gift.value);
  EXPECT_EQ(found.kind, Kind::unchanged);
  EXPECT_THAT(found.differences, IsEmpty());
  EXPECT_EQ(state(), before);
}

// SYNC-51
TEST_P(CrmReconciliation, TwoConcurrentRunsActOnce) {
  const auto gift = send("ada@example.com");
  sync();
  set(gift.value, "recipienttransactionstatus = 'lost'");
  old_record(900, ", recipienttransactionstatus", ", 'sent'");
  store::Store other(database_->address());
  const ReconciliationRules rules{rules_, false, false};
  const ReconciliationBatch one = reconcile_gift_records(*store_, *crm_, rules, {0}, tests::kNow + 1);
  const ReconciliationBatch two = reconcile_gift_records(other, *crm_, rules, {0}, tests::kNow + 1);
  EXPECT_EQ(one.to_write, std::vector{gift});
  EXPECT_THAT(two.to_write, IsEmpty()) << "the first run's repair is in the outbox";
  sync();
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "sent");
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction"), "2");
  EXPECT_EQ(scalar("SELECT count(*) FROM gift_request"), "2");
}

}  // namespace
}  // namespace giftsync::sync
