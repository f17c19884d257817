// Gift records of an org: what crm/gift_records.h promises of them.
#include "tests/salesforce/salesforce_crm_fixture.h"

namespace giftsync::salesforce {
namespace {
using crm::GiftRelink;
using crm::GiftStatusTimes;
using crm::GiftUpsert;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAre;

class SalesforceGiftRecordsTest : public SalesforceCrmTest {};

FieldValue text(const std::string& value) {
  return value;
}

TEST_F(SalesforceGiftRecordsTest, ARecordReadsBackAsItWasWritten) {
  const std::string rose = contact("rose@example.com");
  GiftUpsert row = upsert(kMaxId, std::int64_t{1} << 50);
  const std::vector<std::pair<GiftField, FieldValue>> values{
      {GiftField::recipient_contact, text(rose)},
      {GiftField::message, text("é \"1\" {a,b} \\ '☕' NULL\n\ttwo")},
      {GiftField::recipient_email, text("rose@example.com")},
      {GiftField::item_id, kMaxId - 1},
      {GiftField::item_cost, Money{550}},
      {GiftField::total_price, Money{-5}},
      {GiftField::sent_at, UtcMillis{1'795'264'267'000}},
      {GiftField::owner, text(user_)},
  };
  for (const auto& [field, value] : values) row.record.set(field, value);
  EXPECT_THAT(kinds({row}), ElementsAre(Kind::created));
  const GiftRecord read = record(kMaxId);
  for (const auto& [field, value] : values) EXPECT_EQ(read.get(field), value) << descriptor_of(field).name;
  EXPECT_EQ(read.version, row.record.version);
  EXPECT_EQ(read.get(GiftField::description), FieldValue());
  EXPECT_EQ(read.get(GiftField::opened), FieldValue(false));
  EXPECT_THAT(read.unreadable, IsEmpty());
}

TEST_F(SalesforceGiftRecordsTest, ADeletedRecordIsReportedAndNotCreatedAgain) {
  kinds({upsert(7, 1), upsert(8, 1)});
  sql("UPDATE crm_gift_record SET isdeleted = 1 WHERE recipienttransactionid = 7");
  const auto results = write({upsert(7, 2, true), upsert(8, 2, true), upsert(9, 1)});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::not_found, Kind::updated, Kind::created));
  EXPECT_THAT(results[0].reason, HasSubstr("deleted"));
  EXPECT_THAT(kinds({upsert(7, 3)}), ElementsAre(Kind::created));
}

// SYNC-69
TEST_F(SalesforceGiftRecordsTest, ARecordThatItsIdDoesNotNameAnyMoreIsFoundByItsTransactionId) {
  const auto created = write({upsert(1, 1), upsert(2, 1), upsert(3, 1), upsert(4, 1)});
  for (std::size_t i = 0; i < created.size(); ++i)
    EXPECT_EQ(created[i].crm_id, scalar("SELECT id FROM crm_gift_record WHERE recipienttransactionid = " +
                                        std::to_string(i + 1)));
  sql("UPDATE crm_gift_record SET isdeleted = 1 WHERE recipienttransactionid IN (2, 3)");
  const std::string second = insert("crm_gift_record", "recipienttransactionid, name", "3, 'Made again'");
  std::vector<GiftUpsert> rows{upsert(1, 2, true), upsert(2, 2, true), upsert(3, 2, true),
                               upsert(4, 2, true)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].crm_id = created[i].crm_id;
  rows[3].crm_id = "no Id";
  const int before = calls();
  const auto results = write(rows);
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::updated, Kind::not_found, Kind::updated, Kind::updated));
  EXPECT_EQ(results[0].crm_id, created[0].crm_id);
  EXPECT_EQ(results[1].crm_id, "");
  EXPECT_EQ(results[2].crm_id, second);
  EXPECT_EQ(results[3].crm_id, created[3].crm_id);
  EXPECT_EQ(calls() - before, 4) << "each round is one query and one write";
  EXPECT_EQ(record(3).version, 2);
  rows.resize(1);
  rows[0].record.version = 1;
  const auto older = write(rows);
  EXPECT_THAT(kinds_of(older), ElementsAre(Kind::unchanged));
  EXPECT_EQ(record(1).version, 2);
}

TEST_F(SalesforceGiftRecordsTest, LostLookupsAreClearedAndReported) {
  const std::string gone = contact("rose@example.com");
  sql("UPDATE crm_contact SET isdeleted = 1");
  GiftUpsert lost = upsert(1, 1);
  lost.record.set(GiftField::recipient_contact, gone);
  lost.record.set(GiftField::owner, user_);
  GiftUpsert invalid = upsert(2, 1);
  invalid.record.set(GiftField::opportunity, std::string("o1"));
  invalid.record.set(GiftField::deal_stage, std::string("Prospecting"));
  const auto results = write({lost, invalid, upsert(3, 1)});
  EXPECT_THAT(kinds_of(results), ElementsAre(Kind::created, Kind::created, Kind::created));
  EXPECT_THAT(results[0].cleared_lookups, ElementsAre(GiftField::recipient_contact));
  EXPECT_THAT(results[1].cleared_lookups, ElementsAre(GiftField::opportunity));
  EXPECT_THAT(results[2].cleared_lookups, IsEmpty());
  EXPECT_EQ(record(1).get(GiftField::recipient_contact), FieldValue());
  EXPECT_EQ(record(1).get(GiftField::owner), text(user_));
  EXPECT_EQ(record(2).get(GiftField::deal_stage), FieldValue());
}

TEST_F(SalesforceGiftRecordsTest, PagesOfAQueryAreReadToTheEnd) {
  sql("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4500) INSERT INTO "
      "crm_gift_record (recipienttransactionid, name) SELECT i, 'Gift' FROM n");
  const auto ids = gifts().transaction_ids_between({1}, {5000}, 5000);
  ASSERT_THAT(ids, SizeIs(4500));
  EXPECT_TRUE(std::ranges::is_sorted(ids));
  EXPECT_THAT(gifts().find(ids), SizeIs(4500));
}

TEST_F(SalesforceGiftRecordsTest, ARelinkWritesOnlyOverTheLookupsThatWereRead) {
  const std::string rose = contact("rose@example.com");
  const std::string ada = contact("ada@example.com");
  std::vector<GiftUpsert> rows{upsert(1, 1), upsert(2, 1)};
  for (GiftUpsert& row : rows) row.record.set(GiftField::recipient_contact, rose);
  kinds(rows);
  sql("UPDATE crm_gift_record SET recipientcontactid = NULL WHERE recipienttransactionid = 2");
  std::vector<GiftRelink> relinks;
  for (const std::int64_t id : {1, 2, 3}) {
    GiftRelink relink{{id}, {}, {}, {}, {}};
    relink.from.contact_id = rose;
    relink.to.contact_id = ada;
    relinks.push_back(relink);
  }
  EXPECT_THAT(kinds_of(gifts().relink(relinks)),
              ElementsAre(Kind::updated, Kind::unchanged, Kind::not_found));
  EXPECT_EQ(record(1).get(GiftField::recipient_contact), text(ada));
  EXPECT_EQ(record(2).get(GiftField::recipient_contact), FieldValue());
}

TEST_F(SalesforceGiftRecordsTest, WhatTheOrgKeepsOfAValueIsKnown) {
  GiftUpsert row = upsert(1, 1);
  const std::string long_address = std::string(70, 'a') + "@long.example.com";
  const std::vector<std::pair<GiftField, FieldValue>> values{
      {GiftField::message, text("  Thank you! \n")},
      {GiftField::description, text("   ")},
      {GiftField::recipient_email, text(long_address)},
      {GiftField::sent_at, UtcMillis{1'795'264'267'890}},
      {GiftField::opened_time, UtcMillis{1'795'264'268'000}},
      {GiftField::item_cost, Money{550}},
  };
  for (const auto& [field, value] : values) row.record.set(field, value);
  EXPECT_THAT(kinds({row}), ElementsAre(Kind::created));
  const GiftRecord read = record(1);
  for (const auto& [field, value] : values)
    EXPECT_EQ(read.get(field), gifts().as_kept(field, value)) << descriptor_of(field).name;
  EXPECT_EQ(read.get(GiftField::message), text("Thank you!"));
  EXPECT_EQ(read.get(GiftField::recipient_email), FieldValue()) << "an address is not cut";
}

TEST_F(SalesforceGiftRecordsTest, CallsAndQuotaAreCounted) {
  EXPECT_EQ(crm_->usage()->own_calls, 0);
  EXPECT_FALSE(crm_->usage()->limit);
  kinds({upsert(1, 1)});
  const auto usage = crm_->usage();
  ASSERT_TRUE(usage && usage->limit && usage->used && usage->share);
  EXPECT_EQ(usage->own_calls, 1);
  EXPECT_EQ(usage->used, calls());
  EXPECT_LT(*usage->share, *usage->limit);
  EXPECT_FALSE(usage->paused_until);
}

TEST_F(SalesforceGiftRecordsTest, MissingLookupsAreThoseOfDeletedTargets) {
  const std::string rose = contact("rose@example.com");
  const std::string gone = contact("gone@example.com");
  sql("UPDATE crm_contact SET isdeleted = 1 WHERE email = 'gone@example.com'");
  const std::vector<Associations> links{{rose, "", "", ""}, {gone, "", "", ""}, {"", "", "", "x"}};
  EXPECT_THAT(
      gifts().missing_lookups(links),
      ElementsAre(IsEmpty(), ElementsAre(GiftField::recipient_contact), ElementsAre(GiftField::opportunity)));
}

TEST_F(SalesforceGiftRecordsTest, StatusTimesAreFilledOnlyWhereThereAreNone) {
  GiftUpsert row = upsert(1, 4);
  row.record.set(GiftField::opened_time, UtcMillis{1000});
  kinds({row, upsert(2, 1)});
  std::vector<GiftStatusTimes> times(3);
  for (std::size_t i = 0; i < times.size(); ++i) {
    times[i].transaction = {static_cast<std::int64_t>(i) + 1};
    times[i].times[Status::opened] = UtcMillis{5000};
  }
  EXPECT_THAT(gifts().fill_status_times(times), ElementsAre(TransactionId{2}));
  EXPECT_EQ(record(1).get(GiftField::opened_time), FieldValue(UtcMillis{1000}));
  EXPECT_EQ(record(2).get(GiftField::opened_time), FieldValue(UtcMillis{5000}));
  EXPECT_EQ(record(2).version, 1);
}

TEST_F(SalesforceGiftRecordsTest, AThousandGiftsCostOneCallAndTheirUpdatesOneMoreByTheirIds) {
  std::vector<GiftUpsert> rows;
  for (std::int64_t id = 1; id <= 1000; ++id) rows.push_back(upsert(id, 1));
  const auto created = write(rows);
  EXPECT_THAT(kinds_of(created), AllOf(SizeIs(1000), Each(Kind::created)));
  EXPECT_EQ(calls(), 1);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i].record.version = 2;
    rows[i].exists = true;
    rows[i].crm_id = created[i].crm_id;
  }
  EXPECT_THAT(kinds(rows), Each(Kind::updated));
  EXPECT_EQ(calls(), 2);
  for (GiftUpsert& row : rows) {
    row.record.version = 3;
    row.crm_id.clear();
  }
  EXPECT_THAT(kinds(rows), Each(Kind::updated));
  EXPECT_EQ(calls(), 4) << "a query for all, and the write";
}

}  // namespace
}  // namespace giftsync::salesforce
