// giftsyncctl report and db check.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/cli_fixture.h"
#include "tests/support/json.h"
#include "tests/support/temporary_database.h"

namespace giftsync::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class CliReport : public testing::Test {
 protected:
  void count() const {
    store::Store store(cli_.address());
    while (store.rollups.add_deltas() > 0) continue;
  }
  CliFixture cli_;
};

// covers: NUM-7
TEST_F(CliReport, ThePeriodsRowsAreATableJsonAndCsv) {
  cli_.send_gifts({"ada@example.com", "bob@example.com"});
  count();
  const auto table = cli_.run({"report", "--by", "campaign"});
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr("(none)"), HasSubstr("total"), HasSubstr("SPEND")));
  EXPECT_THAT(table.err, HasSubstr("from 2026-10-23 to 2026-11-21"));
  const auto json = tests::parse_json(cli_.run({"report", "--by", "month", "--json"}).out);
  ASSERT_EQ(json["rows"].size(), 1U);
  EXPECT_EQ(json["rows"][0]["sent"], 2);
  EXPECT_EQ(json["rows"][0]["redemption_rate"], 0.0);
  EXPECT_EQ(json["rows"][0]["median_redeem_seconds"], nullptr);
  EXPECT_EQ(json["summary"]["total"]["sent"], 2);
  EXPECT_EQ(json["summary"]["is_whole"], true);
  const auto csv = cli_.run({"report", "--by", "account", "--csv"});
  EXPECT_THAT(csv.out, AllOf(StartsWith("kind,name,sent,delivered"), Not(HasSubstr("total"))));
  EXPECT_THAT(cli_.run({"report", "--by", "item", "--since", "2026-01-01", "--until", "2026-01-31"}).out,
              IsEmpty());
}

// covers: HTTP-60
TEST_F(CliReport, RowsAndTotalNameTheCurrencyOfTheSettings) {
  cli_.send_gifts({"ada@example.com"});
  count();
  EXPECT_THAT(cli_.run({"report", "--by", "month", "--csv"}).out, Not(HasSubstr("currency")));
  cli_.write_settings("catalogue: { currency: EUR }\n");
  const auto json = tests::parse_json(cli_.run({"report", "--by", "month", "--json"}).out);
  EXPECT_EQ(json["rows"][0]["currency"], "EUR");
  EXPECT_EQ(json["summary"]["total"]["currency"], "EUR");
  EXPECT_THAT(cli_.run({"report", "--by", "month", "--csv"}).out,
              AllOf(HasSubstr(",mean_redeem_seconds,currency\r\n"), HasSubstr(",EUR\r\n")));
  EXPECT_THAT(cli_.run({"report", "--by", "month"}).out, Not(HasSubstr("EUR")));
}

// covers: NUM-7
TEST_F(CliReport, WhatIsNotCountedIsRefusedWithTheNextStep) {
  const auto other = cli_.run({"report", "--by", "item", "--campaign", "autumn"});
  EXPECT_EQ(other.code, 64);
  EXPECT_THAT(other.err, AllOf(HasSubstr("--by month"), HasSubstr("gift export --campaign")));
  EXPECT_EQ(cli_.run({"report", "--by", "month", "--campaign", "autumn"}).code, 0);
  EXPECT_EQ(cli_.run({"report", "--by", "item", "--since", "today", "--until", "7d"}).code, 64);
  const auto time = cli_.run({"report", "--by", "item", "--since", "2026-01-01T08:00:00Z"});
  EXPECT_EQ(time.code, 64);
  EXPECT_THAT(time.err, HasSubstr("allowed: a day"));
}

// covers: NUM-5
TEST_F(CliReport, ACheckListsEachNumberThatDiffersAndRepairsIt) {
  cli_.send_gifts({"ada@example.com"});
  count();
  const auto right = cli_.run({"db", "check"});
  EXPECT_EQ(right.code, 0);
  EXPECT_THAT(right.err, HasSubstr("No difference: the counts of 1 day"));
  tests::run_sql(cli_.address(), "UPDATE gift_rollup SET opened = 5 WHERE dimension = 0");
  const auto wrong = tests::parse_json(cli_.run({"db", "check", "--json"}).out);
  ASSERT_EQ(wrong.size(), 1U);
  EXPECT_EQ(wrong[0]["by"], "all");
  EXPECT_EQ(wrong[0]["number"], "opened");
  EXPECT_EQ(wrong[0]["counted"], 5);
  EXPECT_EQ(wrong[0]["gifts"], 0);
  const auto found = cli_.run({"db", "check"});
  EXPECT_EQ(found.code, 1);
  EXPECT_THAT(found.err, HasSubstr("giftsyncctl db check --repair"));
  EXPECT_EQ(cli_.run({"db", "check", "--repair"}).code, 0);
  EXPECT_EQ(cli_.run({"db", "check"}).code, 0);
  EXPECT_THAT(cli_.run({"audit", "list", "--json"}).out, HasSubstr("db.check"));
}

}  // namespace
}  // namespace giftsync::cli
