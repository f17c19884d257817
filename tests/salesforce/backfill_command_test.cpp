// "giftsyncctl backfill", "rematch", "crm list" and "crm show" against an org.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "platform/clock.h"
#include "tests/cli/cli_fixture.h"
#include "tests/salesforce/fake_org/projects.h"
#include "tests/salesforce/fake_org/server.h"
#include "tests/salesforce/fake_org_fixture.h"
#include "tests/support/json.h"

namespace giftsync::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using Json = nlohmann::json;
using tests::fake_org::Org;

class BackfillCommandTest : public testing::Test {
 protected:
  BackfillCommandTest() {
    server_.with_org([&](Org& org) {
      user_ = org.add_user("integration@example.com", "giftsync_Integration");
      org.set("consumer_key", "consumer");
      org.set("client_secret", "secret");
      org.set("run_as", "integration@example.com");
    });
    cli_.now = system_now();  // that of the governor
    cli_.write_settings("crm:\n  type: salesforce\n  salesforce: { domain: \"" + server_.url() +
                        "\", flow: client_credentials, client_id: consumer, client_secret: secret }\n");
  }
  void sql(const std::string& statement) {
    server_.with_org([&](Org& org) { org.database().run_script(statement); });
  }
  void add_log() {
    server_.with_org([&](Org& org) { tests::fake_org::add_status_log(org, user_); });
    sql("INSERT INTO crm_gift_record (recipienttransactionid, recipienttransactionstatus, recipient_email) "
        "VALUES (900, 'opened', 'ada@example.com')");
    sql("INSERT INTO crm_status_log (recipienttransactionid, status, createddate) VALUES (900, 'Opened', "
        "'2020-01-02T03:04:05.000Z'), (900, 'clicked', '2020-01-02T03:04:05.000Z')");
  }

  tests::fake_org::Server server_{0, ":memory:", tests::fake_org::salesforce_project()};
  std::string user_;
  CliFixture cli_;
};

// SYNC-59, SYNC-52
TEST_F(BackfillCommandTest, FillsTimesFromTheLogAndAdoptsTheRecords) {
  const auto none = cli_.run({"backfill", "status-timestamps"});
  EXPECT_EQ(none.code, 78);
  EXPECT_THAT(none.err, AllOf(HasSubstr("no status log Status_Log__c"), HasSubstr("crm.status_log.object"),
                              HasSubstr("permission set")));
  add_log();
  const auto filled = cli_.run({"backfill", "status-timestamps", "--json"});
  ASSERT_EQ(filled.code, 0) << filled.err;
  const Json summary = tests::parse_json(filled.out)["summary"];
  EXPECT_EQ(summary["rows"], 2);
  EXPECT_EQ(summary["timestamps"], 1);
  EXPECT_EQ(summary["unknown_statuses"]["clicked"], 1);
  const auto records = cli_.run({"backfill", "gift-records", "--json"});
  ASSERT_EQ(records.code, 0) << records.err;
  EXPECT_EQ(tests::parse_json(records.out)["summary"]["adopted"], 1);
  EXPECT_THAT(cli_.run({"gift", "show", "900"}).out, HasSubstr("2020-01-02"));
}

// ORG-11
TEST_F(BackfillCommandTest, WaitsWhileTheOrgIsNotToBeCalledAndGoesOn) {
  add_log();
  server_.with_org([](Org& org) {
    org.faults().add({{"kind", "answer"},
                      {"status", 503},
                      {"body", "<html>Maintenance</html>"},
                      {"headers", {{"Retry-After", "2"}}},
                      {"skip", 2},
                      {"path", "/composite"}});
  });
  const auto filled = cli_.run({"backfill", "status-timestamps", "--json"});
  EXPECT_EQ(filled.code, 0) << filled.err;
  EXPECT_THAT(filled.err, HasSubstr("Waiting; this command goes on at 20"));
  EXPECT_EQ(tests::parse_json(filled.out)["summary"]["timestamps"], 1);
}

// ORG-13
TEST_F(BackfillCommandTest, ARetryWakesARunThatWaits) {
  add_log();
  server_.with_org([](Org& org) {
    org.faults().add({{"kind", "answer"},
                      {"status", 503},
                      {"body", "<html>Maintenance</html>"},
                      {"headers", {{"Retry-After", "600"}}},
                      {"skip", 2},
                      {"path", "/composite"}});
  });
  auto run = std::async(std::launch::async, [this] {
    return cli_.run({"backfill", "status-timestamps", "--json"});
  });
  const auto is_resting = [this] {
    const Json calls = tests::parse_json(cli_.run({"status", "--json"}).out)["salesforce"]["calls"];
    return !calls["resting_until"].is_null();
  };
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!is_resting() && std::chrono::steady_clock::now() < until)
    ASSERT_EQ(run.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout) << "it did not wait";
  EXPECT_EQ(cli_.run({"crm", "retry", "--all"}).code, 0);
  ASSERT_EQ(run.wait_for(std::chrono::seconds(60)), std::future_status::ready) << "it would wait ten minutes";
  const auto filled = run.get();
  EXPECT_EQ(filled.code, 0) << filled.err;
  EXPECT_THAT(filled.err, HasSubstr("\"giftsyncctl crm retry --all\""));
  EXPECT_EQ(tests::parse_json(filled.out)["summary"]["timestamps"], 1);
}

// SYNC-66
TEST_F(BackfillCommandTest, ListsAndShowsRowsOfTheOrg) {
  sql("INSERT INTO crm_contact (lastname, name, email, phone) VALUES ('Lima', 'Rose Lima', "
      "'rose@example.com', "
      "'1'), ('Lee', 'Ann Lee', 'ann@example.com', '2')");
  const auto listed = cli_.run({"crm", "list", "contact", "--limit", "1"});
  ASSERT_EQ(listed.code, 0) << listed.err;
  EXPECT_THAT(listed.err, HasSubstr("More follow: "));
  const Json rows = tests::parse_json(cli_.run({"crm", "list", "contact", "--json"}).out);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_LT(rows[0]["Id"], rows[1]["Id"]);
  const std::string id = rows[0]["Id"];
  EXPECT_EQ(tests::parse_json(cli_.run({"crm", "list", "contact", "--after", id, "--json"}).out).size(), 1U);
  EXPECT_EQ(tests::parse_json(cli_.run({"crm", "list", "contact", "--after", "003", "--json"}).out).size(),
            2U);
  const auto shown = cli_.run({"crm", "show", "contact", id});
  EXPECT_THAT(shown.out, AllOf(HasSubstr(id), HasSubstr("@example.com"), HasSubstr("IsDeleted")));
  const auto other = cli_.run({"crm", "show", "lead", id});
  EXPECT_THAT(other.err, HasSubstr("did you mean"));
  EXPECT_THAT(cli_.run({"crm", "list", "permission_set_assignment", "--json"}).out,
              AllOf(HasSubstr("giftsync_Integration"), HasSubstr("PermissionSetName")));
  EXPECT_THAT(cli_.run({"crm", "show", "contact", "rose@example.com"}).err, HasSubstr("match --email"));
}

}  // namespace
}  // namespace giftsync::cli
