// `backfill`, and the progress of long work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/cli_context.h"
#include "cli/console.h"
#include "daemon/wiring/server_secret.h"
#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class CliBackfill : public ::testing::Test {
 protected:
  void SetUp() override {
    cli_.run({"db", "migrate"});
    sql("CREATE TABLE crm_status_log (id TEXT NOT NULL PRIMARY KEY, recipienttransactionid BIGINT, status "
        "TEXT, "
        "createddate TEXT)");
    sql("INSERT INTO crm_gift_record (id, recipienttransactionid, recipient_email, "
        "recipienttransactionstatus) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 450) SELECT 'o' || i, i, "
        "'a@example.com', 'opened' FROM n");
    sql("INSERT INTO crm_status_log SELECT id, recipienttransactionid, 'Opened', '2020-01-02T03:04:05.000Z' "
        "FROM "
        "crm_gift_record");
    sql("INSERT INTO crm_status_log VALUES ('x', 1, 'clicked', '2020-01-02T03:04:05.000Z'), ('y', NULL, "
        "'opened', '2020-01-02T03:04:05.000Z')");
  }
  void sql(const std::string& statement) { tests::run_sql(cli_.address(), statement); }
  Json json(std::vector<std::string> args) {
    args.emplace_back("--json");
    const auto result = cli_.run(args);
    EXPECT_EQ(result.code, 0) << result.err;
    return tests::parse_ordered_json(result.out);
  }
  CliFixture cli_;
};

// SYNC-58
TEST_F(CliBackfill, StatusTimestampsAreFilledOnce) {
  const auto dry = cli_.run({"backfill", "status-timestamps", "--dry-run"});
  EXPECT_THAT(dry.out,
              AllOf(HasSubstr("450 timestamps of 450 gifts would be filled. Nothing was written."),
                    HasSubstr("... and 430 more"), HasSubstr("unknown status \"clicked\": 1 row\n")));
  const Json done = json({"backfill", "status-timestamps"});
  EXPECT_THAT(done["filled"], SizeIs(450));
  EXPECT_EQ(done["filled"][0]["status"], "opened");
  EXPECT_EQ(done["filled"][0]["time"], "2020-01-02T03:04:05.000Z");
  const Json& summary = done["summary"];
  EXPECT_EQ(summary["rows"], 452);
  EXPECT_EQ(summary["used"], 450);
  EXPECT_EQ(summary["unknown_statuses"]["clicked"], 1);
  EXPECT_EQ(summary["without_gift"], 1);
  const auto again = cli_.run({"backfill", "status-timestamps"});
  EXPECT_EQ(again.out.find("status-timestamps: 452 log rows: 0 used, 450 not needed"), 0U) << again.out;
}

TEST_F(CliBackfill, MissingLogAndMissingColumnAreReported) {
  sql("DROP TABLE crm_status_log");
  const auto none = cli_.run({"backfill", "status-timestamps"});
  EXPECT_EQ(none.code, 78);
  EXPECT_THAT(none.err, AllOf(HasSubstr("no status log crm_status_log"), HasSubstr("crm.status_log.object")));
  sql("CREATE TABLE old_log (gift BIGINT, word TEXT, at TEXT)");
  cli_.write_settings(
      "crm: { status_log: { object: old_log, transaction_id: gift, status: word, time: when } }\n");
  const auto wrong = cli_.run({"backfill", "status-timestamps"});
  EXPECT_EQ(wrong.code, 78);
  EXPECT_THAT(wrong.err, HasSubstr("old_log has no column when; name the right one in crm.status_log.time"));
  cli_.write_settings("crm: { status_log: { object: \"old_log; drop\" } }\n");
  EXPECT_EQ(cli_.run({"backfill", "status-timestamps"}).code, 78);
}

TEST_F(CliBackfill, GiftRecordsAreAdoptedOnceAndTheSummaryAddsUp) {
  EXPECT_THAT(cli_.run({"backfill", "gift-records", "--dry-run"}).out,
              HasSubstr("450 examined: 0 unchanged, 450 would be adopted. Nothing was written."));
  sql("UPDATE crm_gift_record SET recipienttransactionstatus = 'Archived' WHERE recipienttransactionid = 7");
  const Json done = json({"backfill", "gift-records"});
  EXPECT_THAT(done["gifts"], SizeIs(450));
  EXPECT_EQ(done["gifts"][6]["outcome"], "refused");
  EXPECT_THAT(done["gifts"][6]["note"].get<std::string>(), HasSubstr("Archived"));
  EXPECT_EQ(done["summary"]["examined"], 450);
  EXPECT_EQ(done["summary"]["adopted"], 449);
  EXPECT_EQ(done["summary"]["refused"], 1);
  EXPECT_THAT(cli_.run({"audit", "list", "--action", "backfill."}).out,
              AllOf(HasSubstr("backfill.gift-records"), HasSubstr("450 examined")))
      << "CON-8";
  EXPECT_EQ(json({"backfill", "gift-records"})["summary"]["unchanged"], 449);
  EXPECT_THAT(cli_.run({"gift", "show", "5"}).out, HasSubstr("its record was in the CRM before"));
}

TEST_F(CliBackfill, AnEstimatedSentTimeIsMarkedAsEstimated) {
  sql("UPDATE crm_gift_record SET recipienttransactioncreatedat = '2020-01-01T00:00:00.000Z', giftid = 7, "
      "recipient_email = NULL, recipient_phone_number = '+1 650 867 3450' WHERE recipienttransactionid = 2");
  sql("UPDATE crm_gift_record SET opened_date_time = '2020-01-02T03:04:05.000Z' WHERE "
      "recipienttransactionid = 1");
  cli_.run({"backfill", "gift-records"});
  EXPECT_THAT(cli_.run({"gift", "show", "1"}).out,
              HasSubstr("  sent          unknown; deadlines count from 2020-01-02T03:04:05.000Z\n"));
  EXPECT_EQ(json({"gift", "show", "1"})["sent_at_estimated"], true);
  EXPECT_THAT(cli_.run({"gift", "show", "2"}).out,
              AllOf(HasSubstr("  sent          2020-01-01T00:00:00.000Z\n"),
                    HasSubstr("  to            +1 650 867 3450\n"), HasSubstr("  item          7\n")));
  EXPECT_EQ(json({"gift", "show", "2"})["sent_at_estimated"], false);
  EXPECT_THAT(cli_.run({"gift", "list", "--limit", "2"}).out, HasSubstr("+1 650 867 3450"));
  std::istringstream exported(cli_.run({"gift", "export", "--format", "ndjson"}).out);
  std::string line;
  ASSERT_TRUE(std::getline(exported, line));
  EXPECT_EQ(tests::parse_ordered_json(line)["sent_at"], nullptr);
  EXPECT_EQ(tests::parse_ordered_json(line)["opened_at"], "2020-01-02T03:04:05.000Z");
  ASSERT_TRUE(std::getline(exported, line));
  EXPECT_EQ(tests::parse_ordered_json(line)["sent_at"], "2020-01-01T00:00:00.000Z");
  sql("UPDATE crm_gift_record SET recipienttransactioncreatedat = '2020-01-01T00:00:00.000Z' WHERE "
      "recipienttransactionid = 1");
  EXPECT_THAT(
      cli_.run({"gift", "show", "1"}).out,
      HasSubstr("2020-01-01T00:00:00.000Z in its record; deadlines count from 2020-01-02T03:04:05.000Z\n"));
  EXPECT_THAT(cli_.run({"backfill", "gift-records"}).out,
              HasSubstr("Sent At is \"2020-01-01T00:00:00.000Z\", kept; giftsync would write "
                        "\"2020-01-02T03:04:05.000Z\""));
}

TEST_F(CliBackfill, TheExportHasTheTotalThatTheListHas) {
  sql("UPDATE crm_gift_record SET recipienttransactionprice = '9.00', item_cost = '4.50', shipping_cost = "
      "'1.00' WHERE recipienttransactionid = 1");
  EXPECT_THAT(cli_.run({"backfill", "gift-records"}).out, HasSubstr("Total Price 9.00 is not the 5.50"));
  EXPECT_EQ(json({"gift", "list", "--limit", "1"})[0]["RecipientTransactionPrice"], "9.00");
  std::istringstream exported(cli_.run({"gift", "export", "--format", "ndjson"}).out);
  std::string line;
  ASSERT_TRUE(std::getline(exported, line));
  EXPECT_EQ(tests::parse_ordered_json(line)["item_cost"], "4.50");
  EXPECT_EQ(tests::parse_ordered_json(line)["total_price"], "9.00");
  EXPECT_THAT(cli_.run({"gift", "show", "1"}).out,
              AllOf(HasSubstr("9.00 = item 4.50 + shipping 1.00 + fee 3.50"), HasSubstr("Total Price 9.00")));
}

TEST_F(CliBackfill, AnIdConflictIsReportedWithItsRemedy) {
  const TransactionId gift = cli_.send_gifts({"ada@example.com"}).front();
  ASSERT_LE(gift.value, 450) << "a record has its id";
  {
    store::Store store(cli_.address());
    store::CrmSyncState refused{gift, store::CrmSyncStatus::rejected,      cli_.now, {},
                                0,    crm::id_conflict_result(gift).reason};
    store.sync.insert_decisions(std::span(&refused, 1));
  }
  cli_.run({"backfill", "gift-records"});
  const auto output = cli_.run({"backfill", "gift-records"});
  EXPECT_THAT(output.out, AllOf(HasSubstr("with an id conflict"), HasSubstr("that giftsync did not write"),
                                HasSubstr("450 examined: 449 unchanged, 1 with an id conflict."),
                                Not(HasSubstr("queued"))));
  EXPECT_THAT(output.err, HasSubstr("1 gift has no record"));
  const Json done = json({"backfill", "gift-records"});
  ASSERT_THAT(done["gifts"], SizeIs(1));
  EXPECT_EQ(done["gifts"][0]["outcome"], "id_conflict");
  EXPECT_EQ(done["summary"]["id_conflict"], 1);
  EXPECT_EQ(done["summary"]["queued"], 0);
  EXPECT_EQ(done["summary"]["examined"], 450);
}

// SYNC-58
TEST_F(CliBackfill, FieldsHaveTheirNamesAndNothingIsNullInJson) {
  cli_.run({"backfill", "gift-records"});
  sql("UPDATE crm_gift_record SET recipienttransactionstatus = NULL WHERE recipienttransactionid = 5");
  for (const bool dry : {true, false}) {
    const Json done =
        dry ? json({"backfill", "gift-records", "--dry-run"}) : json({"backfill", "gift-records"});
    EXPECT_EQ(done["summary"]["dry_run"], dry);
    EXPECT_EQ(done["summary"]["repaired"], 1);
    ASSERT_THAT(done["gifts"], SizeIs(1));
    EXPECT_EQ(done["gifts"][0]["outcome"], "repaired");
    EXPECT_EQ(
        done["gifts"][0]["repaired"],
        tests::parse_ordered_json(R"({"RecipientTransactionStatus": {"crm": null, "giftsync": "opened"}})"));
  }
}

// SYNC-65
TEST_F(CliBackfill, ResumesWhereItStopped) {
  sql("INSERT INTO backfill_checkpoint (name, run, transaction_id, counts) VALUES ('gift-records', 'killed', "
      "200, "
      "'{\"adopted\": 200}')");
  const auto done = cli_.run({"backfill", "gift-records"});
  EXPECT_THAT(done.err, HasSubstr("Resumes after gift 200"));
  EXPECT_THAT(done.out, HasSubstr("450 examined: 0 unchanged, 450 adopted"));
  EXPECT_THAT(done.out, Not(HasSubstr("  200  ")));
  EXPECT_THAT(cli_.run({"backfill", "gift-records"}).out,
              HasSubstr("450 examined: 250 unchanged, 200 adopted"))
      << "the run was complete, so the next one starts over";
  sql("INSERT INTO backfill_checkpoint (name, run, transaction_id, counts) VALUES ('gift-records', 'killed', "
      "200, "
      "'{}')");
  EXPECT_THAT(cli_.run({"backfill", "gift-records", "--restart"}).out,
              HasSubstr("450 examined: 450 unchanged"));
  EXPECT_THAT(cli_.run({"backfill", "gift-records", "--dry-run"}).err, Not(HasSubstr("Resumes")));
}

// SYNC-65, SYNC-62
TEST_F(CliBackfill, AChunkWithFailedWritesIsCountedAndWritten) {
  {
    auto read = read_cli_settings(cli_.path("giftsyncd.yaml"));
    store::Store store(cli_.address());
    wiring::load_server_secret(read.value(),
                               store);  // as a daemon's first start does it
  }
  ASSERT_EQ(cli_.send_gifts({"ada@example.com"}).front().value, 1);
  sql("DELETE FROM crm_gift_record WHERE recipienttransactionid = 1");
  sql("UPDATE crm_gift_record SET recipienttransactionstatus = 'Opened'");
  sql("CREATE TRIGGER broken BEFORE UPDATE ON crm_outbox BEGIN SELECT RAISE(ABORT, 'broken here'); END");
  EXPECT_NE(cli_.run({"backfill", "gift-records"}).code, 0);
  sql("DROP TRIGGER broken");
  const auto done = cli_.run({"backfill", "gift-records"});
  EXPECT_THAT(done.err, HasSubstr("Resumes after gift 201"));
  EXPECT_THAT(done.out, HasSubstr("450 examined: 0 unchanged, 449 adopted, 1 queued."));
  EXPECT_EQ(json({"gift", "list", "--limit", "2"})[1]["RecipientTransactionStatus"], "opened");
}

TEST_F(CliBackfill, TheLastChunkIsExaminedAgainAfterFailedWrites) {
  {
    auto read = read_cli_settings(cli_.path("giftsyncd.yaml"));
    store::Store store(cli_.address());
    wiring::load_server_secret(read.value(), store);
  }
  ASSERT_EQ(cli_.send_gifts({"ada@example.com"}).front().value, 1);
  sql("DELETE FROM crm_gift_record WHERE recipienttransactionid = 1");
  EXPECT_EQ(cli_.run({"backfill", "gift-records"}).code, 0);
  sql("UPDATE crm_gift_record SET recipienttransactionstatus = 'expired' WHERE recipienttransactionid = 449");
  sql("CREATE TRIGGER broken BEFORE UPDATE ON crm_outbox BEGIN SELECT RAISE(ABORT, 'broken here'); END");
  const auto broken = cli_.run({"backfill", "gift-records"});
  EXPECT_NE(broken.code, 0) << broken.out << broken.err;
  sql("DROP TRIGGER broken");
  const auto again = cli_.run({"backfill", "gift-records"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, HasSubstr("448 unchanged, 2 queued")) << "all are examined";
  EXPECT_THAT(again.err, Not(HasSubstr("9007199254740992")));
}

// SYNC-72
TEST_F(CliBackfill, TheLatestRunIsInTheStatus) {
  const auto latest = [&] { return tests::parse_json(cli_.run({"status", "--json"}).out)["backfills"]; };
  EXPECT_THAT(cli_.run({"status"}).out, Not(HasSubstr("backfill  ")));
  cli_.run({"backfill", "gift-records", "--dry-run"});
  EXPECT_THAT(latest(), IsEmpty()) << "a dry run writes nothing";
  sql("UPDATE crm_gift_record SET recipienttransactionstatus = 'Archived' WHERE recipienttransactionid = 7");
  cli_.run({"backfill", "gift-records"});
  const auto run = latest()[0];
  EXPECT_EQ(run["name"], "gift-records");
  EXPECT_EQ(run["state"], "finished");
  EXPECT_EQ(run["examined"], 450);
  EXPECT_EQ(run["repaired"], 449);
  EXPECT_EQ(run["differing"], 1);
  EXPECT_EQ(run["summary"], "gift-records: 450 examined: 0 unchanged, 449 adopted, 1 not adopted.");
  EXPECT_TRUE(run["late_since"].is_null());
  EXPECT_THAT(cli_.run({"status"}).out,
              AllOf(HasSubstr("\nbackfill  finished 20"),
                    HasSubstr("gift-records left 1 difference, which \"giftsyncctl --config " +
                              cli_.path("giftsyncd.yaml") + " backfill gift-records --dry-run\" shows\n")));
  cli_.now = cli_.now + 9 * kDayMillis;
  EXPECT_EQ(latest()[0]["late_since"], run["ended_at"]);
  EXPECT_THAT(cli_.run({"status"}).out, HasSubstr("gift-records has not run since 20"));
}

// SYNC-72
TEST_F(CliBackfill, ARunThatFailsLeavesItsReason) {
  sql("CREATE TRIGGER broken BEFORE INSERT ON recipient_transaction BEGIN SELECT RAISE(ABORT, 'broken "
      "here'); "
      "END");
  EXPECT_NE(cli_.run({"backfill", "gift-records"}).code, 0);
  const auto status = tests::parse_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(status["backfills"][0]["state"], "failed");
  EXPECT_THAT(status["backfills"][0]["error"].get<std::string>(), HasSubstr("broken here"));
  EXPECT_THAT(status["needs_attention"].dump(),
              AllOf(HasSubstr("crm.backfill_failed"), HasSubstr("backfill gift-records  # goes on")));
  sql("DROP TRIGGER broken");
  cli_.run({"backfill", "gift-records"});
  const auto repaired = tests::parse_json(cli_.run({"status", "--json"}).out);
  EXPECT_EQ(repaired["backfills"][0]["state"], "finished");
  EXPECT_THAT(repaired["needs_attention"].dump(), Not(HasSubstr("backfill")));
}

TEST(WorkProgressTest, PrintsRateAndTimeLeft) {
  std::ostringstream out, err;
  std::istringstream in;
  UtcMillis now{0};
  const auto console = [&](bool terminal) { return Console{out, err, in, terminal, [&] { return now; }}; };
  {
    const Console plain = console(false);
    WorkProgress progress(plain, "gifts", 10'000, 1000);
    now = now + 9'000;
    progress.update(1900);
    EXPECT_THAT(err.str(), IsEmpty()) << "short work prints no progress";
    now = now + 1'000;
    progress.update(2000);
    EXPECT_EQ(err.str(), "2000 of 10000 gifts, 100 gifts/s, 1 min 20 s left\n");
  }
  err.str("");
  {
    const Console terminal = console(true);
    WorkProgress progress(terminal, "rows", 200, 0);
    now = now + 1'000;
    progress.update(100);
    EXPECT_THAT(err.str(),
                HasSubstr("[###############...............]  50 %  100 rows, 100 rows/s, 1 s left"));
    progress.update(101);
    EXPECT_THAT(err.str(), Not(HasSubstr("101"))) << "at most one redraw per kRedrawMillis";
  }
  EXPECT_TRUE(err.str().ends_with("\r\033[K"));
  EXPECT_EQ(duration_text(7'384'000), "2 h 3 min");
}

}  // namespace
}  // namespace giftsync::cli
