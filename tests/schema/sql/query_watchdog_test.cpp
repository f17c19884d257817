// A PostgreSQL server that accepts queries and does not respond.
#include "schema/sql/query_watchdog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "platform/dependency_error.h"
#include "schema/sql/database.h"
#include "tests/support/faulty_proxy.h"
#include "tests/support/temporary_database.h"

namespace giftsync::sql {
namespace {

using testing::HasSubstr;

/// Long enough for a successful query, even on a busy machine.
constexpr std::int64_t kLimitMillis = 2000;

class QueryWatchdogTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests::TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
    database_ = std::make_unique<tests::TemporaryDatabase>(Dialect::postgresql);
    Database direct(database_->address());
    proxy_ =
        std::make_unique<tests::FaultyProxy>(std::stoi(tests::scalar(direct, "SELECT inet_server_port()")));
  }
  std::unique_ptr<Database> through_proxy(bool is_external_crm = false) {
    Dsn address = database_->address();
    address.connection += " host=127.0.0.1 port=" + std::to_string(proxy_->port());
    address.is_external_crm = is_external_crm;
    return std::make_unique<Database>(address);
  }

  std::unique_ptr<tests::TemporaryDatabase> database_;
  std::unique_ptr<tests::FaultyProxy> proxy_;
};

// ARCH-19
TEST_F(QueryWatchdogTest, AbortsAStalledQueryAndReconnects) {
  const QueryWatchdog watch({kLimitMillis, 60'000});
  const auto database = through_proxy();
  EXPECT_EQ(tests::scalar(*database, "SELECT 'x'"), "x");
  proxy_->stall();
  try {
    tests::scalar(*database, "SELECT 'x'");
    FAIL() << "an answer came";
  } catch (const DependencyError& fault) {
    EXPECT_TRUE(fault.transient());
    EXPECT_THAT(fault.what(), HasSubstr("accepts queries and does not respond"));
  }
  EXPECT_EQ(oldest_store_query_millis(), 0) << "no query waits any more";
  proxy_->stall(false);
  EXPECT_EQ(tests::scalar(*database, "SELECT 'x'"), "x");
}

TEST_F(QueryWatchdogTest, AStalledCommitHasAnUnknownOutcome) {
  const QueryWatchdog watch({kLimitMillis, 60'000});
  const auto database = through_proxy();
  tests::run_sql(*database, "CREATE TABLE a (b TEXT)");
  bool reached = false;
  EXPECT_THROW(database->write([&](soci::session& session) {
    session << "INSERT INTO a VALUES ('x')";
    reached = true;
    proxy_->stall();  // before COMMIT
  }),
               CommitOutcomeUnknown);
  EXPECT_TRUE(reached);
  proxy_->stall(false);
  EXPECT_EQ(tests::scalar(*database, "SELECT 'x'"), "x");
}

TEST_F(QueryWatchdogTest, AnExternalCrmHasItsOwnLimit) {
  const QueryWatchdog watch({60'000, kLimitMillis});
  const auto theirs = through_proxy(true);
  EXPECT_EQ(tests::scalar(*theirs, "SELECT 'x'"), "x");
  proxy_->stall();
  EXPECT_THROW(tests::scalar(*theirs, "SELECT 'x'"), DependencyError);
}

// CON-24, SIGN-10
TEST_F(QueryWatchdogTest, AReadOfACrmEndsWithItsThreadsDeadline) {
  const QueryWatchdog watch({600'000, 600'000});
  const auto theirs = through_proxy(true);
  EXPECT_EQ(tests::scalar(*theirs, "SELECT 'x'"), "x");
  proxy_->stall();
  const ThreadCallDeadline deadline(kLimitMillis);
  EXPECT_THROW(tests::scalar(*theirs, "SELECT 'x'"), DependencyError);
}

TEST_F(QueryWatchdogTest, ALongTransactionThatRenewsItselfIsAsOldAsItsLastStatement) {
  const auto database = through_proxy();
  const bool is_renewed = database->snapshot([&](soci::session& session) {
    session << "SELECT pg_sleep(0.3)";
    const std::int64_t before = oldest_store_query_millis();
    renew_active_query();
    EXPECT_GE(before, 300);
    // Of this transaction alone: no other one is open.
    return oldest_store_query_millis() < before;
  });
  EXPECT_TRUE(is_renewed);
}

TEST_F(QueryWatchdogTest, ReportsTheAgeOfTheOldestStoreQuery) {
  const auto database = through_proxy();
  database->read([&](soci::session& session) {
    session << "SELECT 1";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (oldest_store_query_millis() < 2 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_GE(oldest_store_query_millis(), 2);
  });
  EXPECT_EQ(oldest_store_query_millis(), 0);
}

}  // namespace
}  // namespace giftsync::sql
