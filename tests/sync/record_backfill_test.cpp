// The backfill of gift records: what is missing, what drifted, what was deleted, what was there before
// giftsync.
#include "tests/sync/backfill_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RecordFinding::Kind;

class RecordBackfill : public BackfillGround {
 protected:
  /// One whole walk, with the sync steps that it asks for.
  std::map<std::int64_t, RecordFinding> walk(bool dry_run = false, bool recreate = false) {
    std::map<std::int64_t, RecordFinding> found;
    TransactionId after{0};
    for (bool done = false; !done;) {
      const RecordChunk chunk =
          backfill_records(*store_, *crm_, {rules_, recreate, dry_run}, after, kNow + 1);
      for (const RecordFinding& finding : chunk.findings) found[finding.transaction.value] = finding;
      if (!dry_run) sync();
      EXPECT_TRUE(chunk.done || chunk.last > after) << "the walk goes on";
      after = chunk.last;
      done = chunk.done;
    }
    return found;
  }
  /// Everything that a walk could have changed.
  std::string state() {
    return scalar("SELECT sum(version) FROM recipient_transaction") + " " +
           scalar("SELECT sum(record_version) FROM crm_gift_record") + " " +
           scalar("SELECT count(*) FROM change_log") + " " + scalar("SELECT count(*) FROM sync_mark") + " " +
           scalar("SELECT count(*) FROM gift_mirror WHERE state = 'written'") + " " +
           scalar("SELECT count(*) FROM crm_gift_record");
  }
};

class ForeignRecordBackfill : public RecordBackfill {};
class ManagedRecordBackfill : public RecordBackfill {};

INSTANTIATE_TEST_SUITE_P(BackEnds, RecordBackfill, all_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(BackEnds, ManagedRecordBackfill, managed_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(BackEnds, ForeignRecordBackfill,
                         testing::Values(CrmUnderTest::foreign_sqlite, CrmUnderTest::foreign_postgresql),
                         name_of_crm);

TEST_P(RecordBackfill, WhatIsAsItShouldBeIsLeftAlone) {
  const auto gift = send("ada@example.com");
  sync();
  const std::string before = state();
  EXPECT_EQ(walk().at(gift.value).kind, Kind::unchanged);
  EXPECT_EQ(state(), before);
}

TEST_P(RecordBackfill, FieldsThatGiftsyncOwnsAreRepairedAndOthersTold) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5000);
  sync();
  set(gift.value,
      "recipienttransactionstatus = 'lost', opened_date_time = NULL, item_cost = '9.99', name = 'Mine', "
      "description = 'Noted by hand'");
  const RecordFinding seen = walk(true).at(gift.value);
  EXPECT_EQ(seen.kind, Kind::repaired);
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "lost") << "a dry run writes nothing";
  const RecordFinding found = walk().at(gift.value);
  EXPECT_THAT(found.repaired, SizeIs(3));
  EXPECT_THAT(found.differs, SizeIs(2));
  EXPECT_EQ(found.repaired.back().field, GiftField::status);
  EXPECT_EQ(found.repaired.back().in_crm, "lost");
  EXPECT_EQ(found.repaired.back().wanted, "opened");
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened");
  EXPECT_EQ(record(gift.value, "opened_date_time"), to_rfc3339(kNow + 5000));
  EXPECT_EQ(record(gift.value, "item_cost"), "5.00");
  EXPECT_EQ(record(gift.value, "name"), "Mine");
  EXPECT_EQ(record(gift.value, "description"), "Noted by hand");
  const std::string before = state();
  const RecordFinding again = walk().at(gift.value);
  EXPECT_EQ(again.kind, Kind::unchanged);
  EXPECT_THAT(again.differs, SizeIs(2));
  EXPECT_EQ(state(), before) << "a second run changes nothing";
}

TEST_P(RecordBackfill, SentAtIsKeptTrueAndACrmOfWholeSecondsIsNotCorrectedForThem) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5678);
  sync();
  for (const std::int64_t whole : {5000, 6000}) {
    set(gift.value, "opened_date_time = '" + to_rfc3339(kNow + whole) + "'");
    EXPECT_EQ(walk().at(gift.value).kind, Kind::unchanged) << whole;
  }
  set(gift.value, "opened_date_time = '" + to_rfc3339(kNow + 5677) +
                      "', recipienttransactioncreatedat = '2020-01-01T00:00:00.000Z'");
  EXPECT_THAT(walk().at(gift.value).repaired, SizeIs(2));
  EXPECT_EQ(record(gift.value, "opened_date_time"), to_rfc3339(kNow + 5678));
  EXPECT_EQ(record(gift.value, "recipienttransactioncreatedat"), to_rfc3339(kNow));
}

TEST_P(RecordBackfill, OfAnAdoptedRecordAnotherSentAtIsToldAndLeft) {
  old_record(900, ", recipienttransactionstatus", ", 'sent'");
  walk();
  sync();
  EXPECT_THAT(walk().at(900).differs, IsEmpty());
  set(900, "recipienttransactioncreatedat = '2019-01-01T00:00:00.000Z'");
  for (int run = 0; run < 2; ++run) {
    const RecordFinding found = walk().at(900);
    EXPECT_EQ(found.kind, Kind::unchanged);
    ASSERT_THAT(found.differs, SizeIs(1)) << run;
    EXPECT_EQ(found.differs.front().field, GiftField::sent_at);
    sync();
    EXPECT_EQ(record(900, "recipienttransactioncreatedat"), "2019-01-01T00:00:00.000Z");
  }
  set(900, "recipienttransactioncreatedat = NULL");
  EXPECT_THAT(walk().at(900).differs, IsEmpty());
}

TEST_P(ManagedRecordBackfill, ARecordOfAHigherVersionThanTheStoresIsRepairedToo) {
  const auto gift = send("ada@example.com");
  sync();
  set(gift.value, "recipienttransactionstatus = 'redeemed', record_version = 700");
  walk();
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "sent");
  EXPECT_EQ(record(gift.value, "record_version"), "701");
}

TEST_P(RecordBackfill, DeletedRecordsAreToldAndMadeAgainOnRequestOnly) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::redeemed, 7000);
  sync();
  sql("DELETE FROM crm_gift_record");
  EXPECT_EQ(walk().at(gift.value).kind, Kind::gone);
  EXPECT_EQ(scalar("SELECT state FROM gift_mirror"), "gone");
  EXPECT_EQ(walk().at(gift.value).kind, Kind::gone);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  EXPECT_EQ(walk(true, true).at(gift.value).kind, Kind::recreated);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  EXPECT_EQ(walk(false, true).at(gift.value).kind, Kind::recreated);
  EXPECT_EQ(record(gift.value, "redeemed_date_time"), to_rfc3339(kNow + 7000)) << "with its whole history";
  EXPECT_EQ(walk(false, true).at(gift.value).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, ARecordThatCameBackIsSyncedAgain) {
  const auto gift = send("ada@example.com");
  sync();
  sql("CREATE TABLE bin AS SELECT id, recipienttransactionid, recipient_email FROM crm_gift_record");
  sql("DELETE FROM crm_gift_record");
  walk();
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email) SELECT id, "
      "recipienttransactionid, recipient_email FROM bin");
  EXPECT_EQ(walk().at(gift.value).kind, Kind::repaired);
  EXPECT_EQ(scalar("SELECT state FROM gift_mirror"), "written");
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "sent");
}

TEST_P(RecordBackfill, SkippedGiftsGetTheirRecordWhenTheSettingsWantThemTo) {
  rules_.skip_unmatched = true;
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5000);
  sync();
  EXPECT_EQ(walk().at(gift.value).kind, Kind::skipped);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  rules_.skip_unmatched = false;
  EXPECT_EQ(walk(true).at(gift.value).kind, Kind::created);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "0");
  EXPECT_EQ(walk().at(gift.value).kind, Kind::created);
  EXPECT_EQ(record(gift.value, "opened_date_time"), to_rfc3339(kNow + 5000));
  EXPECT_EQ(walk().at(gift.value).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, AGiftThatIsBeingSyncedIsLeftToIt) {
  const auto gift = send("ada@example.com");
  EXPECT_EQ(walk(true).at(gift.value).kind, Kind::waiting);
  sync();
  report(gift.value, Status::opened, 5000);
  EXPECT_EQ(walk(true).at(gift.value).kind, Kind::waiting);
}

TEST_P(RecordBackfill, AGiftThatAStrangersRecordKeepsOutIsToldAsThat) {
  const auto gift = send("ada@example.com");
  old_record(gift.value, ", recipienttransactionstatus", ", 'opened'");
  EXPECT_EQ(walk(true).at(gift.value).kind, Kind::waiting) << "nobody has tried yet";
  sync();
  const std::string before = state();
  for (const bool dry_run : {true, false, false}) {
    const RecordFinding found = walk(dry_run).at(gift.value);
    EXPECT_EQ(found.kind, Kind::blocked);
    EXPECT_THAT(found.note, HasSubstr("Give it another Transaction Id in the CRM"));
    EXPECT_EQ(state(), before);
  }
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened") << "it is left as it is";
  set(gift.value, "recipienttransactionid = 900");
  EXPECT_EQ(walk(true).at(gift.value).kind, Kind::waiting) << "the sync loop makes it with its next try";
}

/// SQLite's columns take anything.
class LooseRecordBackfill : public RecordBackfill {};
INSTANTIATE_TEST_SUITE_P(BackEnds, LooseRecordBackfill,
                         testing::Values(CrmUnderTest::managed_sqlite, CrmUnderTest::foreign_sqlite),
                         name_of_crm);

TEST_P(LooseRecordBackfill, WhatCannotBeReadIsRepairedWhereItIsOursAndHoldsUpNoOther) {
  const auto ada = send("ada@example.com");
  const auto bob = send("bob@example.com");
  report(ada.value, Status::opened, 5000);
  sync();
  set(ada.value,
      "recipienttransactionprice = '$5.50', opened_date_time = 'yesterday', delivered_date_time = ''");
  const RecordFinding found = walk().at(ada.value);
  EXPECT_EQ(found.kind, Kind::repaired);
  ASSERT_THAT(found.repaired, SizeIs(3));
  EXPECT_EQ(found.repaired[0].in_crm, "") << "an empty text is no time";
  EXPECT_EQ(found.repaired[1].in_crm, "yesterday");
  EXPECT_EQ(found.repaired[2].in_crm, "$5.50");
  EXPECT_EQ(record(ada.value, "recipienttransactionprice"), "5.50");
  EXPECT_EQ(record(ada.value, "opened_date_time"), to_rfc3339(kNow + 5000));
  EXPECT_EQ(record(ada.value, "delivered_date_time"), "null");
  EXPECT_EQ(walk().at(ada.value).kind, Kind::unchanged);
  EXPECT_EQ(walk().at(bob.value).kind, Kind::unchanged);
}

TEST_P(LooseRecordBackfill, AnEmptyTextIsNoNumber) {
  const auto ada = send("ada@example.com");
  sync();
  set(ada.value, "giftid = '', shipping_cost = ''");
  const RecordFinding found = walk().at(ada.value);
  ASSERT_THAT(found.repaired, SizeIs(1));
  EXPECT_EQ(found.repaired[0].field, GiftField::shipping_cost);
  EXPECT_EQ(found.repaired[0].in_crm, "");
  EXPECT_EQ(found.repaired[0].wanted, "0.00");
  EXPECT_EQ(record(ada.value, "shipping_cost"), "0.00");
  ASSERT_THAT(found.differs, SizeIs(1)) << "the admin's to correct";
  EXPECT_EQ(found.differs[0].field, GiftField::item_id);
  EXPECT_EQ(found.differs[0].in_crm, "");
  EXPECT_EQ(found.differs[0].wanted, "7");
  EXPECT_EQ(record(ada.value, "giftid"), "");
  EXPECT_EQ(walk().at(ada.value).kind, Kind::unchanged);
}

TEST_P(LooseRecordBackfill, AnEmptyTextIsNoDriftFromAPriceThatNobodyKnows) {
  const auto ada = send("ada@example.com");
  sql("UPDATE gift_request SET shipping_cost = NULL");
  sync();
  set(ada.value, "shipping_cost = ''");
  const RecordFinding found = walk().at(ada.value);
  EXPECT_EQ(found.kind, Kind::unchanged);
  EXPECT_THAT(found.differs, IsEmpty());
  set(ada.value, "shipping_cost = 'free'");
  EXPECT_THAT(walk().at(ada.value).differs, SizeIs(1));
}

TEST_P(LooseRecordBackfill, ARecordIsAdoptedOnceItCanBeRead) {
  old_record(900, ", recipienttransactionstatus, opened_date_time", ", 'opened', '01/02/2024'");
  old_record(901, ", recipienttransactionstatus, redeemed_date_time", ", 'sent', ''");
  old_record(902, ", recipienttransactionstatus, giftid, shipping_cost", ", 'sent', '', ''");
  auto found = walk();
  EXPECT_EQ(found.at(900).kind, Kind::refused);
  EXPECT_THAT(found.at(900).note, AllOf(HasSubstr("Opened Date/Time"), HasSubstr("01/02/2024")));
  EXPECT_EQ(record(900, "opened_date_time"), "01/02/2024") << "what somebody wrote is left to them";
  EXPECT_EQ(found.at(901).kind, Kind::adopted);
  EXPECT_EQ(record(901, "redeemed_date_time"), "null");
  EXPECT_EQ(found.at(902).kind, Kind::adopted);
  EXPECT_EQ(record(902, "giftid"), "") << "nothing that giftsync would write here";
  EXPECT_THAT(record(902, "record_version"), testing::AnyOf("0", "null"))
      << "nor is the record written for it";
  set(900, "opened_date_time = '2024-01-02T00:00:00.000Z'");
  found = walk();
  EXPECT_EQ(found.at(900).kind, Kind::adopted);
  EXPECT_EQ(found.at(901).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, AnAddressInOtherLettersIsNoDrift) {
  const auto ada = send("Ada@Example.com");
  sync();
  set(ada.value, "recipient_email = 'ada@example.com'");
  EXPECT_EQ(walk().at(ada.value).kind, Kind::unchanged);
  set(ada.value, "recipient_email = 'bob@example.com'");
  EXPECT_EQ(walk().at(ada.value).kind, Kind::repaired);
}

TEST_P(RecordBackfill, LinksThatLeadNowhereAnyMoreAreToldAndListedForARematch) {
  sql("INSERT INTO crm_contact (id, email) VALUES ('c1', 'ada@example.com'), ('c2', 'bob@example.com')");
  const auto ada = send("ada@example.com");
  const auto bob = send("bob@example.com");
  sync();
  sql("DELETE FROM crm_contact WHERE id = 'c1'");
  const auto to_rematch = [&] {
    return store_->sync.mirrors_to_rematch(RematchScope::needs_rematch, {0}, kCrmBatch);
  };
  ASSERT_THAT(walk(true).at(ada.value).lost, SizeIs(1));
  EXPECT_THAT(to_rematch(), IsEmpty()) << "a dry run writes nothing";
  for (int run = 0; run < 2; ++run) {
    const auto found = walk();
    EXPECT_EQ(found.at(ada.value).kind, Kind::unchanged);
    ASSERT_THAT(found.at(ada.value).lost, SizeIs(1));
    EXPECT_EQ(found.at(ada.value).lost.front().field, GiftField::recipient_contact);
    EXPECT_EQ(found.at(ada.value).lost.front().in_crm, "c1");
    EXPECT_THAT(found.at(bob.value).lost, IsEmpty());
    ASSERT_THAT(to_rematch(), SizeIs(1));
    EXPECT_EQ(to_rematch().front().transaction, ada);
    EXPECT_THAT(to_rematch().front().decision.warnings,
                HasSubstr("Recipient Contact c1 is not in the CRM any more"));
    EXPECT_EQ(record(ada.value, "recipientcontactid"), "c1") << "nothing is taken out of the record";
  }
}

TEST_P(RecordBackfill, RecordsFromBeforeGiftsyncAreAdopted) {
  old_record(900, ", recipienttransactionstatus, opened_date_time, item_cost, recipientcontactid, name",
             ", 'opened', '2020-01-02T00:00:00.000Z', '3.50', 'c9', 'An old one'");
  EXPECT_EQ(walk(true).at(900).kind, Kind::adopted);
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction"), "0");
  EXPECT_EQ(walk().at(900).kind, Kind::adopted);
  const TransactionId id{900};
  const Gift gift = store_->gifts.gifts(std::span(&id, 1)).front();
  EXPECT_EQ(gift.transaction.origin, kAdoptedOrigin);
  EXPECT_EQ(gift.transaction.status, Status::opened);
  EXPECT_EQ(gift.transaction.email, "old900@example.com");
  EXPECT_EQ(store_->sync.mirrors(std::span(&id, 1)).front().decision.contact_id, "c9");
  const std::string before = state();
  EXPECT_EQ(walk().at(900).kind, Kind::unchanged);
  EXPECT_EQ(state(), before);

  report(900, Status::redeemed, 0, "some_vendor");
  EXPECT_EQ(outcome_, AcceptOutcome::accepted) << "changes of every source apply";
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "redeemed");
  EXPECT_EQ(record(900, "redeemed_date_time"), to_rfc3339(kNow));
  EXPECT_EQ(record(900, "opened_date_time"), "2020-01-02T00:00:00.000Z") << "what it had before is kept";
  EXPECT_EQ(record(900, "item_cost"), "3.50");
  EXPECT_EQ(record(900, "recipienttransactionprice"), "null") << "its prices are never written";
  EXPECT_EQ(record(900, "name"), "An old one");
  EXPECT_EQ(walk().at(900).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, AnAdoptedPriceOfUnknownPartsIsTheItems) {
  old_record(900, ", recipienttransactionstatus, recipienttransactionprice", ", 'sent', '5.50'");
  old_record(901, ", recipienttransactionstatus, recipienttransactionprice, item_cost, shipping_cost",
             ", 'sent', '5.50', '4.50', '1.00'");
  walk();
  const std::vector<TransactionId> ids{{900}, {901}};
  for (const Gift& gift : store_->gifts.gifts(ids)) {
    EXPECT_EQ(gift.request.costs.total(), Money{550});
    EXPECT_EQ(gift.request.costs.item, Money{gift.transaction.id.value == 900 ? 550 : 450});
  }
  report(900, Status::redeemed, 0);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionprice"), "5.50");
  EXPECT_EQ(record(900, "item_cost"), "null") << "what the parts are is not invented in the CRM";
  EXPECT_EQ(walk().at(900).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, TheTotalOfAnAdoptedRecordStandsWhateverItsPartsAddUpTo) {
  const std::string columns =
      ", recipienttransactionstatus, recipienttransactionprice, item_cost, shipping_cost";
  old_record(900, columns, ", 'sent', '9.00', '4.50', '1.00'");
  old_record(901, columns, ", 'sent', '9.00', NULL, '1.00'");
  old_record(902, columns, ", 'sent', '5.00', '4.50', '1.00'");
  old_record(903, columns, ", 'sent', '3.00', '4.50', '-5.00'");
  old_record(904, columns, ", 'sent', '3.00', '0.00', '0.00'");
  const auto found = walk();
  EXPECT_EQ(found.at(900).note,
            "Total Price 9.00 is not the 5.50 of its parts: giftsync counts the other 3.50 as Transaction "
            "Fee.");
  EXPECT_THAT(found.at(901).note, HasSubstr("counts the other 8.00 as Item Cost"));
  EXPECT_THAT(found.at(902).note, HasSubstr("counts all of it as Item Cost"));
  EXPECT_THAT(found.at(903).note, HasSubstr("counts the other 3.50 as Transaction Fee"));
  EXPECT_EQ(found.at(904).note, "") << "a price and nothing of what it is made of";
  const std::vector<TransactionId> ids{{900}, {901}, {902}, {903}, {904}};
  const std::vector<Gift> gifts = store_->gifts.gifts(ids);
  ASSERT_THAT(gifts, SizeIs(5));
  EXPECT_EQ(gifts[0].request.costs, (GiftCosts{Money{450}, Money{100}, std::nullopt, Money{350}}));
  EXPECT_EQ(gifts[1].request.costs, (GiftCosts{Money{800}, Money{100}, std::nullopt, std::nullopt}));
  EXPECT_EQ(gifts[2].request.costs, (GiftCosts{Money{500}, std::nullopt, std::nullopt, std::nullopt}));
  EXPECT_EQ(gifts[3].request.costs, (GiftCosts{Money{450}, Money{-500}, std::nullopt, Money{350}}));
  EXPECT_EQ(gifts[4].request.costs, (GiftCosts{Money{300}, Money{0}, std::nullopt, std::nullopt}));
  EXPECT_EQ(store_->sync.mirrors(std::span(ids).first(1)).front().decision.warnings, found.at(900).note);
  for (const auto& [id, again] : walk()) {
    EXPECT_EQ(again.kind, Kind::unchanged) << id;
    EXPECT_THAT(again.differs, IsEmpty()) << id;
  }
}

TEST_P(RecordBackfill, AnotherTotalInAnAdoptedRecordIsToldAndLeft) {
  old_record(900, ", recipienttransactionstatus, recipienttransactionprice", ", 'sent', '5.50'");
  walk();
  set(900, "recipienttransactionprice = '9.00'");
  for (int run = 0; run < 2; ++run) {
    const RecordFinding found = walk().at(900);
    EXPECT_EQ(found.kind, Kind::unchanged);
    ASSERT_THAT(found.differs, SizeIs(1)) << run;
    EXPECT_EQ(found.differs.front().field, GiftField::total_price);
    EXPECT_EQ(found.differs.front().in_crm, "9.00");
    EXPECT_EQ(found.differs.front().wanted, "5.50");
    EXPECT_EQ(record(900, "recipienttransactionprice"), "9.00");
  }
}

TEST_P(RecordBackfill, AnAdoptedStatusWithoutItsTimeIsNotLost) {
  old_record(900, ", recipienttransactionstatus", ", 'Opened'");
  walk();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "opened") << "in our spelling";
  EXPECT_EQ(record(900, "opened_date_time"), "null") << "no time is invented";
  report(900, Status::delivered, 0);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "opened");
  EXPECT_EQ(record(900, "delivered_date_time"), to_rfc3339(kNow));
  report(900, Status::expired, 0);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "expired");
  EXPECT_EQ(walk().at(900).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, ATimeFilledIntoAnAdoptedRecordIsLearnt) {
  old_record(900, ", recipienttransactionstatus", ", 'opened'");
  walk();
  set(900, "opened_date_time = '2020-01-02T00:00:00.000Z'");
  for (const bool dry_run : {true, false}) {
    const RecordFinding found = walk(dry_run).at(900);
    EXPECT_EQ(found.kind, Kind::learnt);
    ASSERT_THAT(found.learnt, SizeIs(1));
    EXPECT_EQ(found.learnt.front().in_crm, "2020-01-02T00:00:00.000Z");
    EXPECT_THAT(found.repaired, IsEmpty());
  }
  EXPECT_EQ(record(900, "opened_date_time"), "2020-01-02T00:00:00.000Z");
  EXPECT_EQ(scalar("SELECT source FROM change_log"), "crm");
  EXPECT_EQ(walk().at(900).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, WhatFollowsFromALearntTimeIsToldAsItWillBe) {
  old_record(900, ", recipienttransactionstatus, donated_date_time",
             ", 'donated', '2020-01-05T00:00:00.000Z'");
  old_record(901, ", recipienttransactionstatus", ", 'sent'");
  walk();
  set(900, "redeemed_date_time = '2020-01-06T00:00:00.000Z', opened_date_time = '2020-01-04T00:00:00.000Z'");
  set(901, "opened_date_time = '2020-01-02T00:00:00.000Z'");
  for (const bool dry_run : {true, false}) {
    const auto found = walk(dry_run);
    const RecordFinding& loser = found.at(900);
    EXPECT_EQ(loser.kind, Kind::repaired);
    ASSERT_THAT(loser.repaired, SizeIs(1));
    EXPECT_EQ(loser.repaired.front().field, GiftField::redeemed_time);
    EXPECT_EQ(loser.repaired.front().wanted, "") << "it was donated before";
    EXPECT_THAT(loser.note, HasSubstr("stays in the gift's history"));
    ASSERT_THAT(loser.learnt, SizeIs(1));
    EXPECT_EQ(loser.learnt.front().field, GiftField::opened_time);
    const RecordFinding& opened = found.at(901);
    EXPECT_EQ(opened.kind, Kind::repaired);
    ASSERT_THAT(opened.repaired, SizeIs(1));
    EXPECT_EQ(opened.repaired.front().field, GiftField::status);
    EXPECT_EQ(opened.repaired.front().wanted, "opened");
    EXPECT_THAT(opened.learnt, SizeIs(1));
  }
  EXPECT_EQ(record(900, "redeemed_date_time"), "null");
  EXPECT_EQ(record(900, "opened_date_time"), "2020-01-04T00:00:00.000Z");
  EXPECT_EQ(record(901, "recipienttransactionstatus"), "opened");
  EXPECT_EQ(walk().at(900).kind, Kind::unchanged);
}

TEST_P(RecordBackfill, AStatusOfNoneOfOurWordsIsNotAdopted) {
  old_record(900, ", recipienttransactionstatus", ", 'Archived'");
  const RecordFinding found = walk().at(900);
  EXPECT_EQ(found.kind, Kind::refused);
  EXPECT_THAT(found.note, HasSubstr("Archived"));
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction"), "0");
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "Archived");
}

TEST_P(RecordBackfill, ChangesThatWereHeldForAnAdoptedGiftApply) {
  report(900, Status::redeemed, 0, "some_vendor");
  EXPECT_EQ(outcome_, AcceptOutcome::held);
  old_record(900, ", recipienttransactionstatus", ", 'sent'");
  walk();
  EXPECT_EQ(store_->changes.release_held(kNow), 1);
  sync();
  EXPECT_EQ(record(900, "recipienttransactionstatus"), "redeemed");
}

TEST_P(RecordBackfill, ManyChunksOfBothSidesMeetEachGiftOnce) {
  constexpr std::int64_t kOld = 450;
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipienttransactionstatus) "
      "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450) "
      "SELECT 'o' || i, 3000 + 2 * i, 'sent' FROM n");
  std::vector<TransactionId> sent;
  for (int i = 0; i < 30; ++i) sent.push_back(send("a" + std::to_string(i) + "@example.com"));
  sync();
  const auto first = walk();
  EXPECT_THAT(first, SizeIs(kOld + 30));
  const auto adopted =
      std::count_if(first.begin(), first.end(), [](const auto& f) { return f.second.kind == Kind::adopted; });
  EXPECT_EQ(adopted, kOld);
  const std::string before = state();
  for (const auto& [id, finding] : walk()) EXPECT_EQ(finding.kind, Kind::unchanged) << id;
  EXPECT_EQ(state(), before);
}

TEST_P(ForeignRecordBackfill, WhatTheCrmDoesNotHaveIsNoDrift) {
  ForeignNames names = owners_names();
  for (const char* field : {"Transaction_Fee", "Opened_Date_Time", "CreatedById", "OwnerId", "Description"})
    names.columns["gift_record." + std::string(field)] = "-";
  crm_ = make_crm(names);
  const auto gift = send("ada@example.com");
  report(gift.value, Status::opened, 5000);
  sync();
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened");
  const std::string before = state();
  const RecordFinding found = walk().at(gift.value);
  EXPECT_EQ(found.kind, Kind::unchanged);
  EXPECT_THAT(found.differs, IsEmpty());
  EXPECT_EQ(state(), before);
}

TEST_P(RecordBackfill, TwoAtOnceDoEachThingOnce) {
  const auto gift = send("ada@example.com");
  sync();
  set(gift.value, "recipienttransactionstatus = 'lost'");
  old_record(900, ", recipienttransactionstatus", ", 'sent'");
  Store other(database_->address());
  const RecordBackfillRules rules{rules_, false, false};
  const RecordChunk one = backfill_records(*store_, *crm_, rules, {0}, kNow + 1);
  const RecordChunk two = backfill_records(other, *crm_, rules, {0}, kNow + 1);
  EXPECT_EQ(one.to_write, std::vector{gift});
  EXPECT_THAT(two.to_write, IsEmpty()) << "the first one's repair is in the queue";
  sync();
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "sent");
  EXPECT_EQ(scalar("SELECT count(*) FROM recipient_transaction"), "2");
  EXPECT_EQ(scalar("SELECT count(*) FROM gift_request"), "2");
}

}  // namespace
}  // namespace giftsync::sync
