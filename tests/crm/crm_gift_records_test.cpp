// Gift records and migrations: what crm/crm.h promises of them, over every back end.
#include <thread>

#include "crm/sql/transaction_rows.h"
#include "platform/text.h"
#include "tests/crm/crm_conformance.h"
#include "tests/support/query_plan.h"

namespace giftsync::crm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Kind = RowResult::Kind;

class CrmGiftRecords : public CrmConformance {
 protected:
  /// A gift as the store has it at this version.
  GiftUpsert upsert(std::int64_t transaction, std::int64_t version, bool exists = false) {
    set_store_version({transaction}, version);
    GiftUpsert row;
    row.record.set(GiftField::transaction_id, transaction);
    row.record.set(GiftField::status, std::string("sent"));
    row.record.version = version;
    row.exists = exists;
    return row;
  }
  static std::vector<Kind> kinds(Crm& port, const std::vector<GiftUpsert>& rows) {
    std::vector<Kind> all;
    for (const RowResult& result : port.gift_records().upsert(rows)) all.push_back(result.kind);
    return all;
  }
  static GiftRecord only_record(Crm& port) {
    const auto records = port.gift_records().page({0}, 10);
    EXPECT_THAT(records, SizeIs(1));
    return records.empty() ? GiftRecord() : records.front();
  }
};

class ManagedCrmTables : public CrmGiftRecords {};

/// A value of every type, another one for each field.
FieldValue some_value(std::size_t i) {
  const auto n = static_cast<std::int64_t>(i);
  switch (kGiftFields[i].type) {
    case FieldType::currency:
      return Money{n * 100'000 + 5};
    case FieldType::number:
      return kMaxId - n;
    case FieldType::date_time:
      return UtcMillis{1'795'264'267'042 + n};
    case FieldType::checkbox:
      return FieldValue();
    default:
      return "é \"" + std::to_string(i) + "\" {a,b} \\ '☕' NULL\n\ttwo";
  }
}

TEST_P(CrmGiftRecords, ARecordReadsBackAsItWasWritten) {
  GiftUpsert row;
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    if (static_cast<GiftField>(i) != GiftField::recipient_lead)
      row.record.set(static_cast<GiftField>(i), some_value(i));
  }
  row.record.version = std::int64_t{1} << 60;
  for (const auto& [field, table] : {std::pair(GiftField::recipient_contact, "crm_contact"),
                                     std::pair(GiftField::opportunity, "crm_opportunity")}) {
    std::string id = std::get<std::string>(row.record.get(field));
    for (std::size_t at = 0; (at = id.find('\'', at)) != std::string::npos; at += 2) id.insert(at, "'");
    sql("INSERT INTO " + std::string(table) + " (id) VALUES ('" + id + "')");
  }
  const auto port = crm();
  EXPECT_THAT(kinds(*port, {row}), ElementsAre(Kind::created));
  const GiftRecord read = only_record(*port);
  if (keeps_versions()) {
    EXPECT_EQ(read.version, row.record.version);
  }
  for (std::size_t i = 0; i < kGiftFieldCount; ++i) {
    // A CRM sets Last Modified By itself; the managed one gets it from giftsync.
    const bool is_set_by_crm = !is_managed() && static_cast<GiftField>(i) == GiftField::last_modified_by;
    if (kGiftFields[i].type == FieldType::checkbox || is_set_by_crm) continue;
    EXPECT_EQ(read.get(static_cast<GiftField>(i)), row.record.get(static_cast<GiftField>(i)))
        << kGiftFields[i].name;
  }
  EXPECT_EQ(read.get(GiftField::opened), FieldValue(true));
}

TEST_P(CrmGiftRecords, AbsentAndEmptyValuesAreKeptApart) {
  GiftUpsert row = upsert(7, 1);
  row.record.set(GiftField::message, std::string());
  row.record.set(GiftField::item_cost, Money{0});
  row.record.set(GiftField::total_price, Money{-5});
  row.record.set(GiftField::shipping_cost, kMaxMoney);
  const auto port = crm();
  port->gift_records().upsert(std::span(&row, 1));
  const GiftRecord read = only_record(*port);
  EXPECT_EQ(read.get(GiftField::message), FieldValue(std::string()));
  EXPECT_EQ(read.get(GiftField::item_cost), FieldValue(Money{0}));
  EXPECT_EQ(read.get(GiftField::total_price), FieldValue(Money{-5}));
  EXPECT_EQ(read.get(GiftField::shipping_cost), FieldValue(kMaxMoney));
  EXPECT_EQ(read.get(GiftField::description), FieldValue());
  EXPECT_EQ(read.get(GiftField::opened_time), FieldValue());
  EXPECT_EQ(read.get(GiftField::opened), FieldValue(false));
}

// SYNC-6
TEST_P(CrmGiftRecords, DeliveredOpenedAndRedeemedAreComputedFromTheirTimes) {
  struct Case {
    std::optional<std::int64_t> delivered, undelivered;
    bool is_delivered;
  };
  const auto port = crm();
  std::int64_t id = 0;
  const std::vector<Case> cases{{{}, {}, false}, {5, {}, true}, {{}, 5, false},
                                {5, 6, false},   {6, 5, true},  {5, 5, true}};
  for (const Case& one : cases) {
    GiftUpsert row = upsert(++id, 1);
    if (one.delivered) row.record.set(GiftField::delivered_time, UtcMillis{*one.delivered * 1000});
    if (one.undelivered) row.record.set(GiftField::undelivered_time, UtcMillis{*one.undelivered * 1000});
    if (one.is_delivered) row.record.set(GiftField::redeemed_time, UtcMillis{9});
    port->gift_records().upsert(std::span(&row, 1));
  }
  const auto records = port->gift_records().page({0}, 100);
  ASSERT_THAT(records, SizeIs(cases.size()));
  for (std::size_t i = 0; i < cases.size(); ++i) {
    EXPECT_EQ(records[i].get(GiftField::delivered), FieldValue(cases[i].is_delivered)) << i;
    EXPECT_EQ(records[i].get(GiftField::redeemed), FieldValue(cases[i].is_delivered)) << i;
    EXPECT_EQ(records[i].get(GiftField::opened), FieldValue(false)) << i;
  }
  if (is_managed()) {
    EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE delivered"), "3");
  }
}

// SYNC-34
TEST_P(CrmGiftRecords, PlainSqlSeesExactMoneyAndTimes) {
  GiftUpsert row = upsert(7, 1);
  row.record.set(GiftField::item_cost, Money{550});
  row.record.set(GiftField::sent_at, UtcMillis{1'795'264'267'042});
  const auto port = crm();
  port->gift_records().upsert(std::span(&row, 1));
  EXPECT_EQ(scalar("SELECT cast(item_cost as text) FROM crm_gift_record"), "5.50");
  const bool sqlite = dialect() == sql::Dialect::sqlite;
  EXPECT_EQ(scalar("SELECT cast(recipienttransactioncreatedat as text) FROM crm_gift_record"),
            sqlite ? "2026-11-21T12:31:07.042Z" : "2026-11-21 12:31:07.042+00");
  EXPECT_EQ(scalar("SELECT cast(length(id) as text) FROM crm_gift_record"), "18");
  if (is_managed()) {
    EXPECT_NE(scalar("SELECT cast(createddate as text) FROM crm_gift_record"), "null");
  }
}

// SYNC-4
TEST_P(CrmGiftRecords, AnUpdateWritesOnlyFieldsThatGiftsyncOwns) {
  GiftUpsert row = upsert(7, 1);
  row.record.set(GiftField::name, std::string("Coffee for Rose"));
  row.record.set(GiftField::recipient_contact, std::string("c1"));
  row.record.set(GiftField::transaction_fee, Money{25});
  const auto port = crm();
  EXPECT_THAT(kinds(*port, {row}), ElementsAre(Kind::created));
  sql("UPDATE crm_gift_record SET name = 'Mine', recipientcontactid = NULL, recipientleadid = 'l1'");
  for (const bool exists : {true, false}) {
    GiftUpsert next = upsert(7, exists ? 2 : 3, exists);
    next.record.set(GiftField::name, std::string("Not this"));
    next.record.set(GiftField::recipient_contact, std::string("c2"));
    next.record.set(GiftField::status, std::string("opened"));
    next.record.set(GiftField::opened_time, UtcMillis{exists ? 1000 : 2000});
    EXPECT_THAT(kinds(*port, {next}), ElementsAre(Kind::updated));
    const GiftRecord read = only_record(*port);
    if (keeps_versions()) {
      EXPECT_EQ(read.version, exists ? 2 : 3);
    }
    EXPECT_EQ(read.get(GiftField::name), FieldValue(std::string("Mine")));
    EXPECT_EQ(read.get(GiftField::recipient_contact), FieldValue());
    EXPECT_EQ(read.get(GiftField::recipient_lead), FieldValue(std::string("l1")));
    EXPECT_EQ(read.get(GiftField::status), FieldValue(std::string("opened")));
    EXPECT_EQ(read.get(GiftField::opened_time), FieldValue(UtcMillis{exists ? 1000 : 2000}));
    EXPECT_EQ(read.get(GiftField::transaction_fee), FieldValue(Money{25}))
        << "an absent price takes none away";
  }
}

// SYNC-73
TEST_P(CrmGiftRecords, TheCampaignIsWrittenOnce) {
  GiftUpsert row = upsert(7, 1);
  row.record.set(GiftField::utm_campaign_id, std::string("spring-2026"));
  const auto port = crm();
  ASSERT_TRUE(port->gift_records().has_field(GiftField::utm_campaign_id));
  EXPECT_THAT(kinds(*port, {row, upsert(8, 1)}), ElementsAre(Kind::created, Kind::created));
  const auto campaigns = [&] {
    std::vector<FieldValue> found;
    for (const GiftRecord& record : port->gift_records().page({0}, 10))
      found.push_back(record.get(GiftField::utm_campaign_id));
    return found;
  };
  EXPECT_THAT(campaigns(), ElementsAre(FieldValue(std::string("spring-2026")), FieldValue()));
  sql("UPDATE crm_gift_record SET utm_campaign_id = 'autumn-2026' WHERE recipienttransactionid = 7");
  GiftUpsert next = upsert(7, 2, true);
  next.record.set(GiftField::utm_campaign_id, std::string("spring-2026"));
  next.record.set(GiftField::status, std::string("opened"));
  EXPECT_THAT(kinds(*port, {next}), ElementsAre(Kind::updated));
  EXPECT_EQ(campaigns().front(), FieldValue(std::string("autumn-2026"))) << "what an admin corrected stays";
}

// SYNC-20
TEST_P(CrmGiftRecords, ARecordThatGiftsyncDidNotWriteIsKeptUnlessItMayBeAdopted) {
  const auto port = crm();
  GiftUpsert ours = upsert(77, 1);
  ours.record.set(GiftField::recipient_email, std::string("rose@example.com"));
  ours.record.set(GiftField::sent_at, UtcMillis{1'795'264'267'000});
  GiftUpsert other = upsert(78, 1);
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, name, recipienttransactionstatus, "
      "recipient_email, recipienttransactioncreatedat) VALUES ('old', 77, 'Dinner', 'redeemed', "
      "'stella@example.com', '2020-01-01T00:00:00.000Z')");
  const auto results = port->gift_records().upsert(std::vector{ours, other});
  EXPECT_EQ(results[0].kind, Kind::rejected);
  EXPECT_THAT(results[0].reason, testing::HasSubstr("Transaction Id 77 that giftsync did not write"));
  EXPECT_EQ(results[1].kind, Kind::created) << "a row that is refused holds up no other";
  EXPECT_EQ(
      scalar("SELECT name || recipienttransactionstatus || recipient_email FROM crm_gift_record WHERE id = "
             "'old'"),
      "Dinnerredeemedstella@example.com");
  ours.may_adopt = true;
  EXPECT_THAT(kinds(*port, {ours}), ElementsAre(Kind::updated));
  EXPECT_EQ(scalar("SELECT name || recipienttransactionstatus FROM crm_gift_record WHERE id = 'old'"),
            "Dinnersent");
}

TEST_P(CrmGiftRecords, ARecordIsRecognizedAfterALostResponse) {
  const auto port = crm();
  GiftUpsert row = upsert(77, 1);
  row.record.set(GiftField::recipient_email, std::string("rose@example.com"));
  row.record.set(GiftField::sent_at, UtcMillis{1'795'264'267'000});
  EXPECT_THAT(kinds(*port, {row}), ElementsAre(Kind::created));
  EXPECT_THAT(kinds(*port, {row}), ElementsAre(testing::AnyOf(Kind::updated, Kind::unchanged)));
  // Many CRMs write addresses in lower case and cut them and times.
  if (!keeps_versions()) {
    sql("UPDATE crm_gift_record SET recipient_email = 'ROSE@exam', recipienttransactioncreatedat = NULL");
    EXPECT_THAT(kinds(*port, {row}), ElementsAre(Kind::updated));
    const std::string cut = is_salesforce() ? "2026-11-21T12:31:07.000Z" : "2026-11-21T12:31:06.200Z";
    sql("UPDATE crm_gift_record SET recipient_email = '***', recipienttransactioncreatedat = '" + cut + "'");
  }
  row.record.version = 2;
  row.record.set(GiftField::status, std::string("opened"));
  set_store_version({77}, 2);
  EXPECT_THAT(kinds(*port, {row}), ElementsAre(Kind::updated));
}

// SYNC-15
TEST_P(CrmGiftRecords, AnOlderOrEqualVersionChangesNothing) {
  const auto port = crm();
  EXPECT_THAT(kinds(*port, {upsert(7, 5)}), ElementsAre(Kind::created));
  for (const std::int64_t version : {5, 4}) {
    if (version == 5 && !keeps_versions()) continue;  // the store cannot distinguish it from its own version
    for (const bool exists : {false, true}) {
      GiftUpsert stale = upsert(7, version, exists);
      stale.record.set(GiftField::status, std::string("refunded"));
      EXPECT_THAT(kinds(*port, {stale}), ElementsAre(Kind::unchanged));
    }
  }
  EXPECT_EQ(only_record(*port).get(GiftField::status), FieldValue(std::string("sent")));
}

TEST_P(CrmGiftRecords, ADeletedRecordIsReportedNotFoundAndNotRecreated) {
  const auto port = crm();
  kinds(*port, {upsert(7, 1), upsert(8, 1)});
  sql("DELETE FROM crm_gift_record WHERE recipienttransactionid = 7");
  const std::vector<GiftUpsert> rows{upsert(7, 2, true), upsert(8, 2, true), upsert(9, 1)};
  const auto results = port->gift_records().upsert(rows);
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_EQ(results[0].kind, Kind::not_found);
  EXPECT_THAT(results[0].reason, HasSubstr("deleted"));
  EXPECT_EQ(results[1].kind, Kind::updated);
  EXPECT_EQ(results[2].kind, Kind::created);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "2");
  EXPECT_THAT(kinds(*port, {upsert(7, 3)}), ElementsAre(Kind::created));
}

// SYNC-22
TEST_P(CrmGiftRecords, ARejectedRowDoesNotAffectTheOthers) {
  sql("INSERT INTO crm_contact (id) VALUES ('c1')");
  sql("INSERT INTO crm_lead (id) VALUES ('l1')");
  GiftUpsert both = upsert(2, 1);
  both.record.set(GiftField::recipient_contact, std::string("c1"));
  both.record.set(GiftField::recipient_lead, std::string("l1"));
  GiftUpsert without_id;
  without_id.record.version = 1;
  const std::vector<GiftUpsert> rows{upsert(1, 1), both, upsert(3, 1), without_id, upsert(4, 1, true)};
  const auto port = crm();
  const auto results = port->gift_records().upsert(rows);
  ASSERT_THAT(results, SizeIs(5));
  EXPECT_EQ(results[0].kind, Kind::created);
  EXPECT_EQ(results[1].kind, Kind::rejected);
  if (is_managed()) {
    EXPECT_THAT(results[1].reason,
                HasSubstr("giftsync__RecipientContactId__c and giftsync__RecipientLeadId__c"));
  }
  EXPECT_EQ(results[2].kind, Kind::created);
  EXPECT_EQ(results[3].kind, Kind::rejected);
  EXPECT_THAT(ascii_lower(results[3].reason), HasSubstr("recipienttransactionid"));
  EXPECT_EQ(results[4].kind, Kind::not_found);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "2");
}

TEST_P(ManagedCrmTables, PlainSqlCannotLinkARecordToContactAndLead) {
  const auto port = crm();
  kinds(*port, {upsert(1, 1)});
  EXPECT_THROW(sql("UPDATE crm_gift_record SET recipientcontactid = 'c', recipientleadid = 'l'"),
               sql::ConstraintViolation);
}

TEST_P(CrmGiftRecords, ABatchWithADuplicateTransactionKeepsTheNewestVersion) {
  const auto port = crm();
  std::vector<GiftUpsert> rows{upsert(1, 2), upsert(1, 1), upsert(1, 3, true)};
  for (GiftUpsert& row : rows) row.record.set(GiftField::total_price, Money{row.record.version});
  if (is_salesforce())  // only the newest row travels
    EXPECT_THAT(kinds(*port, rows), ElementsAre(Kind::unchanged, Kind::unchanged, Kind::created));
  else
    EXPECT_THAT(kinds(*port, rows), ElementsAre(Kind::created, Kind::unchanged, Kind::updated));
  if (keeps_versions()) {
    EXPECT_EQ(only_record(*port).version, 3);
  }
  EXPECT_EQ(only_record(*port).get(GiftField::total_price), FieldValue(Money{3}));
}

TEST_P(CrmGiftRecords, RecordsAreListedByTransaction) {
  const auto port = crm();
  EXPECT_THAT(port->gift_records().transaction_ids_below({kMaxId + 1}, 10), IsEmpty());
  EXPECT_THAT(port->gift_records().page({0}, 10), IsEmpty());
  EXPECT_EQ(port->gift_records().count(), 0);
  EXPECT_THAT(port->gift_records().upsert({}), IsEmpty());
  kinds(*port, {upsert(kMaxId, 1), upsert(3, 1), upsert(2, 1), upsert(10, 1)});
  std::vector<std::int64_t> seen;
  for (TransactionId after{0}; const GiftRecord& record : port->gift_records().page(after, 3)) {
    seen.push_back(record.transaction().value);
  }
  EXPECT_THAT(seen, ElementsAre(2, 3, 10));
  ASSERT_THAT(port->gift_records().page({10}, 3), SizeIs(1));
  EXPECT_EQ(port->gift_records().page({10}, 3)[0].transaction().value, kMaxId);
  EXPECT_THAT(port->gift_records().transaction_ids_below({kMaxId + 1}, 2),
              ElementsAre(TransactionId{kMaxId}, TransactionId{10}));
  EXPECT_THAT(port->gift_records().transaction_ids_below({10}, 2),
              ElementsAre(TransactionId{3}, TransactionId{2}));
  EXPECT_EQ(port->gift_records().count(), 4);
  EXPECT_EQ(scalar("SELECT count(DISTINCT id) FROM crm_gift_record"), "4");
}

TEST_P(CrmGiftRecords, TransactionIdsAreListedBetweenTwoIds) {
  const auto port = crm();
  GiftRecords& records = port->gift_records();
  EXPECT_THAT(records.transaction_ids_between({0}, {kMaxId + 1}, 10), IsEmpty());
  kinds(*port, {upsert(kMaxId, 1), upsert(3, 1), upsert(2, 1), upsert(10, 1)});
  EXPECT_THAT(records.transaction_ids_between({2}, {10}, 10), ElementsAre(TransactionId{2}, TransactionId{3}))
      << "the first bound is included, the second is not";
  EXPECT_THAT(records.transaction_ids_between({3}, {kMaxId + 1}, 2),
              ElementsAre(TransactionId{3}, TransactionId{10}));
  EXPECT_THAT(records.transaction_ids_between({11}, {kMaxId}, 10), IsEmpty());
  EXPECT_THAT(records.transaction_ids_between({kMaxId}, {kMaxId + 1}, 10),
              ElementsAre(TransactionId{kMaxId}));
  EXPECT_THAT(records.transaction_ids_between({10}, {3}, 10), IsEmpty());
}

TEST_P(CrmGiftRecords, RecordsAreFoundByTheirRecipient) {
  const auto port = crm();
  std::vector<GiftUpsert> rows{upsert(9, 1), upsert(2, 1), upsert(5, 1), upsert(7, 1)};
  for (std::size_t i = 0; i < 3; ++i)
    rows[i].record.set(GiftField::recipient_email,
                       std::string(i == 0 ? "Ada@Example.com" : "ada@example.com"));
  rows[2].record.set(GiftField::recipient_email, std::string("ada@example.com.au"));
  kinds(*port, rows);
  EXPECT_THAT(port->gift_records().transaction_ids_by_email("ada@example.com"),
              ElementsAre(TransactionId{2}, TransactionId{9}));
  EXPECT_THAT(port->gift_records().transaction_ids_by_email("bob@example.com"), IsEmpty());
  EXPECT_THAT(port->gift_records().transaction_ids_by_email(""), IsEmpty())
      << "a record without an address matches nothing";
}

TEST_P(CrmGiftRecords, RecordsWithAStatusAreListedByTransaction) {
  const auto port = crm();
  std::vector<GiftUpsert> rows{upsert(9, 1), upsert(2, 1), upsert(5, 1), upsert(12, 1)};
  for (GiftUpsert& row : rows) {
    const bool is_opened = row.record.transaction() != TransactionId{5};
    row.record.set(GiftField::status, std::string(is_opened ? "opened" : "delivered"));
  }
  kinds(*port, rows);
  const auto ids = [&](Status status, std::int64_t after) {
    std::vector<std::int64_t> found;
    for (const GiftRecord& record : port->gift_records().page_in_status(status, {after}, 2))
      found.push_back(record.transaction().value);
    return found;
  };
  EXPECT_THAT(ids(Status::opened, 0), ElementsAre(2, 9));
  EXPECT_THAT(ids(Status::opened, 9), ElementsAre(12));
  EXPECT_THAT(ids(Status::delivered, 0), ElementsAre(5));
  EXPECT_THAT(ids(Status::refunded, 0), IsEmpty());
}

TEST_P(CrmGiftRecords, RecordsAreFoundByTheirContact) {
  sql("INSERT INTO crm_contact (id) VALUES ('c1'), ('c2')");
  const auto port = crm();
  std::vector<GiftUpsert> rows{upsert(9, 1), upsert(2, 1), upsert(5, 1)};
  rows[0].record.set(GiftField::recipient_contact, std::string("c1"));
  rows[1].record.set(GiftField::recipient_contact, std::string("c1"));
  rows[2].record.set(GiftField::recipient_contact, std::string("c2"));
  kinds(*port, rows);
  EXPECT_THAT(port->gift_records().transaction_ids_by_contact("c1"),
              ElementsAre(TransactionId{2}, TransactionId{9}));
  EXPECT_THAT(port->gift_records().transaction_ids_by_contact("c3"), IsEmpty());
}

TEST_P(CrmGiftRecords, TwoConcurrentWritersLeaveOneRecordEachAtTheNewestVersion) {
  constexpr int kRounds = 25;
  const auto write = [&](std::int64_t offset) {
    const auto port = crm();
    for (int round = 0; round < kRounds; ++round) {
      std::vector<GiftUpsert> batch;
      for (std::int64_t id = 40; id > 0; --id) {
        batch.push_back(upsert(offset == 0 ? id : 41 - id, round * 2 + offset + 1, round % 2 == 1));
        batch.back().record.set(GiftField::total_price, Money{round * 2 + offset + 1});
      }
      for (const RowResult& result : port->gift_records().upsert(batch)) {
        EXPECT_THAT(result.kind, testing::AnyOf(Kind::created, Kind::updated, Kind::unchanged))
            << result.reason;
      }
    }
  };
  std::thread other([&] { write(1); });
  write(0);
  other.join();
  const auto records = crm()->gift_records().page({0}, 100);
  ASSERT_THAT(records, SizeIs(40));
  for (const GiftRecord& record : records) {
    if (keeps_versions()) {
      EXPECT_EQ(record.version, kRounds * 2);
    }
    EXPECT_EQ(record.get(GiftField::total_price), FieldValue(Money{kRounds * 2}));
  }
}

// OPS-34
TEST_P(ManagedCrmTables, RecordsOfAStatusAContactAndAnAddressAreFoundByTheirIndexes) {
  const std::string select = "SELECT recipienttransactionid FROM crm_gift_record WHERE ";
  const std::string email = crm::sql_crm::email_key_expression(dialect(), "recipient_email");
  const std::pair<std::string, std::string> searches[] = {
      {"crm_gift_record_status",
       select + "recipienttransactionstatus = 'sent' AND crm_gift_record.recipienttransactionid > 7 ORDER BY "
                "crm_gift_record.recipienttransactionid LIMIT 2"},
      {"crm_gift_record_contact", select + "recipientcontactid = '003'"},
      {"crm_gift_record_email", select + email + " = 'ada@example.com'"}};
  for (const auto& [index, search] : searches) {
    const std::string plan = tests::plan_of(*plain_sql_, search);
    EXPECT_THAT(plan, testing::HasSubstr(index));
    EXPECT_THAT(plan, testing::Not(testing::ContainsRegex("TEMP B-TREE|Sort")));
  }
}

TEST_P(ManagedCrmTables, MigrationIsIdempotentAndMayRunConcurrently) {
  const auto port = crm();
  kinds(*port, {upsert(1, 1)});
  std::thread other([&] { crm::managed::migrate_managed_crm(address()); });
  crm::managed::migrate_managed_crm(address());
  other.join();
  EXPECT_EQ(crm::managed::managed_crm_version(address()), "1.8");
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record"), "1");
}

TEST_P(ManagedCrmTables, TwoProcessesMayCreateTheTablesConcurrently) {
  tests::TemporaryDatabase fresh(dialect());
  EXPECT_EQ(crm::managed::managed_crm_version(fresh.address()), std::nullopt);
  std::thread other([&] { crm::managed::migrate_managed_crm(fresh.address()); });
  crm::managed::migrate_managed_crm(fresh.address());
  other.join();
  EXPECT_EQ(crm::managed::managed_crm_version(fresh.address()), "1.8");
}

TEST_P(ManagedCrmTables, AMissingGiftColumnIsAdded) {
  sql("ALTER TABLE crm_gift_record DROP COLUMN redeemed");
  sql("ALTER TABLE crm_gift_record DROP COLUMN deal_stage");
  crm::managed::migrate_managed_crm(address());
  GiftUpsert row = upsert(1, 1);
  row.record.set(GiftField::deal_stage, std::string("Prospecting"));
  row.record.set(GiftField::redeemed_time, UtcMillis{1});
  const auto port = crm();
  port->gift_records().upsert(std::span(&row, 1));
  EXPECT_EQ(only_record(*port).get(GiftField::deal_stage), FieldValue(std::string("Prospecting")));
  EXPECT_EQ(only_record(*port).get(GiftField::redeemed), FieldValue(true));
}

// SYNC-73
TEST_P(ManagedCrmTables, RecordsOfAnOlderGiftsyncGetAnEmptyCampaign) {
  sql("ALTER TABLE crm_gift_record DROP COLUMN utm_campaign_id");
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid, name) VALUES ('old', 7, 'Dinner')");
  crm::managed::migrate_managed_crm(address());
  EXPECT_EQ(scalar("SELECT name || coalesce(utm_campaign_id, ' none') FROM crm_gift_record"), "Dinner none");
}

TEST_P(ManagedCrmTables, TablesOfANewerGiftsyncAreRejected) {
  sql("UPDATE crm_meta SET value = '1.10' WHERE name = 'package_version'");
  try {
    crm::managed::migrate_managed_crm(address());
    FAIL() << "newer tables were accepted";
  } catch (const DependencyError& error) {
    EXPECT_FALSE(error.transient());
    EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("1.10"), HasSubstr("1.8")));
  }
}

INSTANTIATE_TEST_SUITE_P(backends, CrmGiftRecords, all_crms(), name_of_crm);
INSTANTIATE_TEST_SUITE_P(backends, ManagedCrmTables, managed_crms(), name_of_crm);

}  // namespace
}  // namespace giftsync::crm
