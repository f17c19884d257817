// A PostgreSQL server that takes questions and gives no answer.
#include "schema/answer_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/schema/breakable_wire.h"
#include "tests/schema/temporary_database.h"

namespace giftsync::schema {
namespace {

using testing::HasSubstr;

/// Long enough for what is answered, however busy the machine is.
constexpr std::int64_t kLimitMillis = 2000;

class AnswerWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TemporaryDatabase::available(Dialect::postgresql)) GTEST_SKIP() << "no PostgreSQL to test on";
    ground_ = std::make_unique<TemporaryDatabase>(Dialect::postgresql);
    sql::Database direct(ground_->address());
    wire_ = std::make_unique<BreakableWire>(std::stoi(scalar(direct, "SELECT inet_server_port()")));
  }
  std::unique_ptr<sql::Database> over_the_wire(bool foreign = false) {
    DatabaseAddress address = ground_->address();
    address.connection += " host=127.0.0.1 port=" + std::to_string(wire_->port());
    address.foreign = foreign;
    return std::make_unique<sql::Database>(address);
  }

  std::unique_ptr<TemporaryDatabase> ground_;
  std::unique_ptr<BreakableWire> wire_;
};

TEST_F(AnswerWatchTest, IsTakenForAnOutageAndTheNextQuestionIsAskedAnew) {
  const AnswerWatch watch({kLimitMillis, 60'000});
  const auto database = over_the_wire();
  EXPECT_EQ(scalar(*database, "SELECT 'x'"), "x");
  wire_->stall();
  try {
    scalar(*database, "SELECT 'x'");
    FAIL() << "an answer came";
  } catch (const BrokenWorld& fault) {
    EXPECT_TRUE(fault.transient());
    EXPECT_THAT(fault.what(), HasSubstr("takes questions and gives no answer"));
  }
  EXPECT_EQ(oldest_transaction_millis(), 0) << "nobody waits any more";
  wire_->stall(false);
  EXPECT_EQ(scalar(*database, "SELECT 'x'"), "x");
}

TEST_F(AnswerWatchTest, OfWritingItIsUnknownWhetherItStands) {
  const AnswerWatch watch({kLimitMillis, 60'000});
  const auto database = over_the_wire();
  run_sql(*database, "CREATE TABLE a (b TEXT)");
  bool reached = false;
  EXPECT_THROW(database->write([&](soci::session& session) {
    session << "INSERT INTO a VALUES ('x')";
    reached = true;
    wire_->stall();  // before COMMIT
  }),
               sql::CommitUnknown);
  EXPECT_TRUE(reached);
  wire_->stall(false);
  EXPECT_EQ(scalar(*database, "SELECT 'x'"), "x");
}

TEST_F(AnswerWatchTest, ACrmThatSomeoneElseOwnsHasItsOwnLimit) {
  const AnswerWatch watch({60'000, kLimitMillis});
  const auto theirs = over_the_wire(true);
  EXPECT_EQ(scalar(*theirs, "SELECT 'x'"), "x");
  wire_->stall();
  EXPECT_THROW(scalar(*theirs, "SELECT 'x'"), BrokenWorld);
}

TEST_F(AnswerWatchTest, TellsHowLongTheStoreHasOwedAnAnswer) {
  const auto database = over_the_wire();
  database->read([&](soci::session& session) {
    session << "SELECT 1";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (oldest_transaction_millis() < 2 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    EXPECT_GE(oldest_transaction_millis(), 2);
  });
  EXPECT_EQ(oldest_transaction_millis(), 0);
}

}  // namespace
}  // namespace giftsync::schema
