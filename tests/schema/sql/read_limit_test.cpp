// Reads of a thread that has a limit of time, on both back ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/dependency_error.h"
#include "schema/sql/database.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sql {
namespace {

constexpr std::int64_t kLimitMillis = 200;
constexpr const char* kUnlimited = "2000000000";

class ReadLimitTest : public tests::DatabaseFixture<> {
 protected:
  static std::string slow_query(const std::string& steps = kUnlimited) {
    return dialect() == Dialect::sqlite
               ? "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + steps +
                     ") SELECT max(i) FROM n"
               : "SELECT count(*) FROM generate_series(1, " + steps + ")";
  }
};

// CON-17
TEST_P(ReadLimitTest, ALongReadEndsAndTheNextOneWorks) {
  {
    const ReadLimit limit(kLimitMillis);
    EXPECT_THROW(scalar(slow_query()), ReadTooLong);
    EXPECT_THROW(plain_sql_->snapshot([](soci::session& session) {
      std::string value;
      session << slow_query(), soci::into(value);
      return value;
    }),
                 ReadTooLong);
    EXPECT_EQ(scalar("SELECT 'x'"), "x");
    { const ReadLimit inner(1); }
    EXPECT_EQ(ReadLimit::millis(), kLimitMillis);
  }
  EXPECT_EQ(ReadLimit::millis(), 0);
  if (dialect() == Dialect::postgresql) {
    EXPECT_EQ(scalar("SHOW statement_timeout"), "0") << "it ended with its read";
  }
}

// CON-17
TEST_P(ReadLimitTest, WritesAndReadsWithoutALimitTakeTheirTime) {
  sql("CREATE TABLE made (n BIGINT)");
  const std::string steps = "300000";
  {
    const ReadLimit limit(1);
    EXPECT_THROW(scalar(slow_query(steps)), ReadTooLong);
    sql("INSERT INTO made " + slow_query(steps));
  }
  EXPECT_EQ(scalar("SELECT n FROM made"), steps);
  EXPECT_EQ(scalar(slow_query(steps)), steps);
}

// CON-24, SIGN-10
TEST_P(ReadLimitTest, ReadsOfACrmOfItsOwnEndWithTheirThreadsDeadline) {
  sql("CREATE TABLE made (n BIGINT)");
  Dsn external = address();
  external.is_external_crm = true;
  Database crm(external);
  EXPECT_EQ(tests::scalar(crm, "SELECT count(*) FROM made"), "0");
  const auto fault_of = [&](const std::string& query) -> std::string {
    const ThreadCallDeadline deadline(kLimitMillis);
    try {
      return "an answer: " + tests::scalar(crm, query);
    } catch (const DependencyError& fault) {
      EXPECT_TRUE(fault.of_external_crm() && fault.transient()) << fault.what();
      return fault.what();
    }
  };
  EXPECT_THAT(fault_of(slow_query()), testing::HasSubstr("took more than"));
  {
    const ThreadCallDeadline deadline(kLimitMillis);
    EXPECT_EQ(scalar("SELECT count(*) FROM made"), "0") << "the store has a limit of its own";
  }
  // Another session has locked the table.
  if (dialect() == Dialect::postgresql) {
    plain_sql_->write([&](soci::session& session) {
      session << "LOCK TABLE made";
      EXPECT_THAT(fault_of("SELECT count(*) FROM made"), testing::HasSubstr("took more than"));
    });
  }
  EXPECT_EQ(tests::scalar(crm, "SELECT count(*) FROM made"), "0");
}

INSTANTIATE_TEST_SUITE_P(BackEnds, ReadLimitTest, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::sql
