// The backfill of timestamps from the old status log, over every back end.
#include "tests/support/backfill_fixture.h"

namespace giftsync::sync {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class StatusLogBackfill : public tests::BackfillFixture {
 protected:
  void SetUp() override {
    tests::BackfillFixture::SetUp();
    if (IsSkipped()) return;
    if (is_salesforce()) return org_->add_status_log();
    const char* time = dialect() == sql::Dialect::sqlite ? "TEXT" : "TIMESTAMPTZ";
    sql(std::string(
            "CREATE TABLE crm_status_log (id TEXT NOT NULL PRIMARY KEY, recipienttransactionid BIGINT, "
            "status TEXT, createddate ") +
        time + ")");
  }
  void log(std::int64_t gift, const std::string& status, const std::string& time) {
    sql("INSERT INTO crm_status_log (id, recipienttransactionid, status, createddate) VALUES ('l" +
        std::to_string(++logs_) + "', " + std::to_string(gift) + ", '" + status + "', " +
        (time.empty() ? "NULL" : "'" + time + "'") + ")");
  }
  StatusLogBatch run(bool dry_run = false) {
    if (!dry_run) crm_->legacy_status_log()->prepare();
    const StatusLogBatch batch = backfill_status_log(store_->backfill, store_->changes, crm_->gift_records(),
                                                     *crm_->legacy_status_log(), {0}, dry_run, tests::kNow);
    EXPECT_TRUE(batch.done);
    const LogRowCounts& rows = batch.rows;
    EXPECT_EQ(rows.used + rows.not_needed + rows.no_record + rows.unknown_word + rows.implausible, logs_)
        << "the summary adds up";
    if (!dry_run) sync();
    return batch;
  }
  std::int64_t logs_ = 0;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, StatusLogBackfill, crm::all_crms(), crm::name_of_crm);

// SYNC-59
TEST_P(StatusLogBackfill, FillsOnlyEmptyTimes) {
  old_record(1, ", opened_date_time, recipienttransactionstatus", ", '2020-05-05T00:00:00.000Z', 'opened'");
  log(1, "Delivered", "2020-01-02T00:00:00.000Z");
  log(1, "delivered ", "2020-01-03T00:00:00.000Z");
  log(1, "opened", "2020-01-04T00:00:00.000Z");
  log(1, "EXPIRED", "2020-03-02T00:00:00.000Z");
  log(1, "expired", "2020-03-01T00:00:00.000Z");
  const StatusLogBatch seen = run(true);
  EXPECT_THAT(seen.filled, SizeIs(2));
  EXPECT_EQ(record(1, "delivered_date_time"), "null") << "a dry run writes nothing";
  const StatusLogBatch done = run();
  EXPECT_EQ(done.gifts, 1);
  EXPECT_EQ(done.rows.used, 4);
  EXPECT_EQ(done.rows.not_needed, 1);
  EXPECT_EQ(record(1, "delivered_date_time"), "2020-01-03T00:00:00.000Z") << "the latest";
  EXPECT_EQ(record(1, "expired_date_time"), "2020-03-01T00:00:00.000Z") << "the earliest";
  EXPECT_EQ(record(1, "opened_date_time"), "2020-05-05T00:00:00.000Z") << "it was there";
  EXPECT_EQ(record(1, "recipienttransactionstatus"), "opened");
  const StatusLogBatch again = run();
  EXPECT_THAT(again.filled, IsEmpty());
  EXPECT_EQ(again.rows.not_needed, 5);
}

TEST_P(StatusLogBackfill, KeepsOneOfRedeemedAndDonated) {
  old_record(1);
  log(1, "redeemed", "2020-01-03T00:00:00.000Z");
  log(1, "donated", "2020-01-02T00:00:00.000Z");
  old_record(2, ", redeemed_date_time", ", '2020-05-05T00:00:00.000Z'");
  log(2, "donated", "2020-01-02T00:00:00.000Z");
  run();
  EXPECT_EQ(record(1, "donated_date_time"), "2020-01-02T00:00:00.000Z");
  EXPECT_EQ(record(1, "redeemed_date_time"), "null");
  EXPECT_EQ(record(2, "donated_date_time"), "null");
  EXPECT_THAT(run().filled, IsEmpty());
}

TEST_P(StatusLogBackfill, CountsUnknownWordsImplausibleTimesAndMissingRecords) {
  old_record(1);
  log(1, "bounced", "2020-01-02T00:00:00.000Z");
  log(1, "bounced", "2020-01-03T00:00:00.000Z");
  log(1, "opened", "1970-01-01T00:00:00.000Z");
  log(1, "opened", "2999-01-01T00:00:00.000Z");
  log(1, "opened", "");
  log(1, "opened", "2020-01-09T00:00:00.000Z");
  log(77, "opened", "2020-01-02T00:00:00.000Z");
  const StatusLogBatch done = run();
  EXPECT_THAT(done.unknown_words, Contains(Pair("bounced", 2)));
  EXPECT_EQ(done.rows.unknown_word, 2);
  EXPECT_EQ(done.rows.implausible, 3);
  EXPECT_EQ(done.rows.no_record, 1);
  EXPECT_EQ(done.rows.used, 1);
  EXPECT_EQ(record(1, "opened_date_time"), "2020-01-09T00:00:00.000Z");
}

// SYNC-60
TEST_P(StatusLogBackfill, KnownGiftsGoThroughTheChangeLog) {
  const auto gift = send("ada@example.com");
  report(gift.value, Status::delivered, 9000);
  sync();
  log(gift.value, "sent", "2020-01-01T00:00:00.000Z");
  log(gift.value, "delivered", "2020-01-02T00:00:00.000Z");
  log(gift.value, "opened", "2026-01-03T00:00:00.000Z");
  const StatusLogBatch done = run();
  EXPECT_EQ(done.to_write, std::vector{gift});
  EXPECT_EQ(scalar("SELECT status FROM change_log WHERE source = 'status_log'"), "opened");
  EXPECT_EQ(record(gift.value, "opened_date_time"), "2026-01-03T00:00:00.000Z");
  EXPECT_EQ(record(gift.value, "recipienttransactionstatus"), "opened") << "the fold decides";
  EXPECT_EQ(record(gift.value, "delivered_date_time"), to_rfc3339(tests::kNow + 9000));
  EXPECT_THAT(run().filled, IsEmpty());
  ReconciliationRules rules{rules_, false, false};
  EXPECT_EQ(reconcile_gift_records(*store_, *crm_, rules, {0}, tests::kNow).findings.front().kind,
            ReconciliationFinding::Kind::unchanged);
}

TEST_P(StatusLogBackfill, FilledRecordsAreAdoptedUnchanged) {
  old_record(900, ", recipienttransactionstatus", ", 'redeemed'");
  log(900, "redeemed", "2020-01-03T00:00:00.000Z");
  run();
  reconcile_gift_records(*store_, *crm_, {rules_, false, false}, {0}, tests::kNow);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_outbox"), "0") << "nothing has to be repaired";
  EXPECT_EQ(scalar("SELECT untimed_status FROM recipient_transaction"), "");
  EXPECT_EQ(
      reconcile_gift_records(*store_, *crm_, {rules_, false, false}, {0}, tests::kNow).findings.front().kind,
      ReconciliationFinding::Kind::unchanged);
}

TEST_P(StatusLogBackfill, PagesEndBetweenGifts) {
  constexpr std::int64_t kGifts = 5000;  // two spans each: more than one page
  sql("INSERT INTO crm_gift_record (id, recipienttransactionid) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM n WHERE i < 5000) SELECT 'o' || i, i FROM n");
  for (const char* status : {"delivered", "opened"}) {
    sql(std::string("INSERT INTO crm_status_log (id, recipienttransactionid, status, createddate) WITH "
                    "RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                    "WHERE i < 5000) SELECT '") +
        status + "' || i, i, '" + status + "', '2020-01-02T00:00:00.000Z' FROM n");
  }
  TransactionId after{0};
  std::int64_t filled = 0;
  int batches = 0;
  for (bool done = false; !done; ++batches) {
    const StatusLogBatch batch = backfill_status_log(store_->backfill, store_->changes, crm_->gift_records(),
                                                     *crm_->legacy_status_log(), after, false, tests::kNow);
    filled += static_cast<std::int64_t>(batch.filled.size());
    ASSERT_TRUE(batch.done || batch.last > after);
    after = batch.last;
    done = batch.done;
  }
  EXPECT_EQ(batches, 2);
  EXPECT_EQ(filled, 2 * kGifts);
  EXPECT_EQ(scalar("SELECT count(*) FROM crm_gift_record WHERE opened_date_time IS NULL OR "
                   "delivered_date_time IS NULL"),
            "0");
}

TEST_P(StatusLogBackfill, CustomLogTableNames) {
  const char* time = dialect() == sql::Dialect::sqlite ? "TEXT" : "TIMESTAMP";
  sql(std::string("CREATE TABLE vendor_log (gift NUMERIC, event TEXT, happened ") + time + ")");
  old_record(1);
  sql("INSERT INTO vendor_log VALUES (1, 'opened', '2020-01-02 03:04:05')");
  const auto crm = make_crm(crm::external_crm_names(), {"vendor_log", "gift", "event", "happened"});
  ASSERT_EQ(crm->legacy_status_log()->size().rows, 1);
  crm->legacy_status_log()->prepare();
  backfill_status_log(store_->backfill, store_->changes, crm->gift_records(), *crm->legacy_status_log(), {0},
                      false, tests::kNow);
  EXPECT_EQ(record(1, "opened_date_time"), "2020-01-02T03:04:05.000Z") << "a time without a zone is UTC";
  const auto missing = make_crm(crm::external_crm_names(), {"nowhere", "gift", "event", "happened"});
  EXPECT_FALSE(missing->legacy_status_log());
  const auto odd = make_crm(crm::external_crm_names(), {"vendor_log", "gift", "status", "happened"});
  EXPECT_THROW(odd->legacy_status_log()->size(), DependencyError);
}

// SYNC-61
TEST_P(StatusLogBackfill, TextTransactionIdColumnIsRejected) {
  const auto fault_of = [&](const std::string& id_column) -> std::string {
    const auto crm = make_crm(crm::external_crm_names(), {"text_log", id_column, "event", "happened"});
    try {
      crm->legacy_status_log()->size();
    } catch (const DependencyError& fault) {
      return fault.what();
    }
    return "";
  };
  const bool sqlite = dialect() == sql::Dialect::sqlite;
  sql(std::string("CREATE TABLE text_log (gift TEXT, ") + (sqlite ? "bare, " : "bare BIGINT, ") +
      "event TEXT, happened " + (sqlite ? "TEXT" : "TIMESTAMP") + ")");
  sql("INSERT INTO text_log VALUES ('9', 9, 'opened', '2020-01-02 03:04:05')");
  EXPECT_THAT(fault_of("gift"), HasSubstr("column text_log.gift is of type text, a number is needed; name "
                                          "another one as crm.status_log.transaction_id"));
  EXPECT_EQ(fault_of("bare"), "");
  if (!sqlite) return;
  sql("INSERT INTO text_log VALUES ('', '10', 'opened', '2020-01-02 03:04:05')");
  EXPECT_THAT(fault_of("bare"), HasSubstr("column text_log.bare holds text (\"10\"), a number is needed"));
}

TEST_P(StatusLogBackfill, NonIntegerIdsAreIgnored) {
  const char* time = dialect() == sql::Dialect::sqlite ? "TEXT" : "TIMESTAMP";
  sql(std::string("CREATE TABLE odd_log (gift NUMERIC, event TEXT, happened ") + time + ")");
  sql("INSERT INTO odd_log VALUES (7.5, 'opened', '2020-01-02 03:04:05'), (1e300, 'opened', NULL), (NULL, "
      "'opened', NULL), (8, 'opened', '2020-01-02 03:04:05')");
  old_record(7);
  old_record(8);
  const auto crm = make_crm(crm::external_crm_names(), {"odd_log", "gift", "event", "happened"});
  EXPECT_EQ(crm->legacy_status_log()->size().without_gift, 3);
  const StatusLogBatch done = backfill_status_log(store_->backfill, store_->changes, crm->gift_records(),
                                                  *crm->legacy_status_log(), {0}, false, tests::kNow);
  EXPECT_EQ(done.rows.used, 1);
  EXPECT_EQ(record(7, "opened_date_time"), "null");
  EXPECT_EQ(record(8, "opened_date_time"), "2020-01-02T03:04:05.000Z");
}

TEST_P(StatusLogBackfill, TimeZoneOffsetWithoutColon) {
  old_record(1);
  log(1, "opened", "2020-02-03T08:00:00+0000");
  log(1, "redeemed", "2020-02-04T09:30:00.250+0130");
  log(1, "expired", "2020-02-04 23:00:00-0200");
  EXPECT_EQ(run().rows.used, 3);
  EXPECT_EQ(record(1, "opened_date_time"), "2020-02-03T08:00:00.000Z");
  EXPECT_EQ(record(1, "redeemed_date_time"), "2020-02-04T08:00:00.250Z");
  EXPECT_EQ(record(1, "expired_date_time"), "2020-02-05T01:00:00.000Z");
}

TEST_P(StatusLogBackfill, EveryStatusWordOfAGiftIsCounted) {
  constexpr std::int64_t kWords = 9000;  // of one gift: more than a page
  old_record(1);
  old_record(2);
  sql("INSERT INTO crm_status_log (id, recipienttransactionid, status, createddate) WITH RECURSIVE n (i) AS "
      "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
      "9000) SELECT 'w' || i, 1, 'a' || i, '2020-01-02T00:00:00.000Z' FROM n");
  logs_ = kWords;
  log(1, "opened", "2020-01-02T00:00:00.000Z");
  log(2, "opened", "2020-01-03T00:00:00.000Z");
  const StatusLogBatch done = run();
  EXPECT_EQ(done.rows.unknown_word, kWords);
  EXPECT_EQ(done.rows.used, 2);
  EXPECT_EQ(record(1, "opened_date_time"), "2020-01-02T00:00:00.000Z");
}

}  // namespace
}  // namespace giftsync::sync
