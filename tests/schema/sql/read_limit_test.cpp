// Reads of a thread that has a limit of time, on both back ends.
#include "platform/read_limit.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_database.h"

namespace giftsync::schema::sql {
namespace {

using platform::ReadLimit;
using platform::ReadTooLong;

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

INSTANTIATE_TEST_SUITE_P(BackEnds, ReadLimitTest, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::schema::sql
