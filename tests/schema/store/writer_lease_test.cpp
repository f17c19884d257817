// The lease of one writer among all processes of a store.
#include <gtest/gtest.h>

#include <string>

#include "schema/sql/database.h"
#include "schema/store/daemon_instances.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

constexpr std::int64_t kMillis = 240'000;

class WriterLeaseTest : public tests::StoreFixture {
 protected:
  WriterLease lease(const std::string& owner) { return {address(), "crm", owner}; }
  void end_in(std::int64_t millis) {
    sql("UPDATE writer_lease SET lease_until = " + std::string(sql::database_now(dialect())) + " + " +
        std::to_string(millis));
  }
};

// ORG-9
TEST_P(WriterLeaseTest, HasOneOwnerUntilItEnds) {
  EXPECT_TRUE(lease("one").take(kMillis).is_this);
  const WriterLease::Holder holder = lease("other").take(kMillis);
  EXPECT_FALSE(holder.is_this);
  EXPECT_EQ(holder.owner, "one");
  EXPECT_GT(holder.remaining_millis, kMillis / 2);
  EXPECT_LE(holder.remaining_millis, kMillis);
  EXPECT_TRUE(lease("one").take(kMillis).is_this) << "an owner takes its own again";
  end_in(-1);
  EXPECT_TRUE(lease("other").take(kMillis).is_this);
  EXPECT_FALSE(lease("one").take(kMillis).is_this);
}

TEST_P(WriterLeaseTest, IsFreeAfterItsRelease) {
  EXPECT_TRUE(lease("one").take(kMillis).is_this);
  lease("other").release();
  EXPECT_FALSE(lease("other").take(kMillis).is_this);
  lease("one").release();
  EXPECT_TRUE(lease("other").take(kMillis).is_this);
}

TEST_P(WriterLeaseTest, IsRenewedOnlyWhileNoOtherOwnerHadIt) {
  EXPECT_FALSE(lease("one").renew(kMillis)) << "it never had it";
  lease("one").take(kMillis);
  end_in(-1);
  EXPECT_TRUE(lease("one").renew(kMillis)) << "no other owner took it";
  EXPECT_FALSE(lease("other").take(kMillis).is_this);
  end_in(-1);
  lease("other").take(kMillis);
  lease("other").release();
  EXPECT_FALSE(lease("one").renew(kMillis));
}

TEST_P(WriterLeaseTest, ALeaseOfAClockThatWasAheadIsFree) {
  lease("one").take(kMillis);
  end_in(10 * kMillis);
  EXPECT_TRUE(lease("other").take(kMillis).is_this);
}

// ORG-9
TEST_P(WriterLeaseTest, WhoWaitsComesBeforeTheFormerOwner) {
  EXPECT_TRUE(lease("one").take(kMillis).is_this);
  EXPECT_FALSE(lease("other").take(kMillis).is_this);
  EXPECT_TRUE(lease("one").take(kMillis).is_this) << "it has it still";
  lease("one").release();
  const WriterLease::Holder next = lease("one").take(kMillis);
  EXPECT_FALSE(next.is_this);
  EXPECT_EQ(next.owner, "other");
  EXPECT_LE(next.remaining_millis, kWriterWaitMillis);
  EXPECT_TRUE(lease("other").take(kMillis).is_this);
  EXPECT_FALSE(lease("one").take(kMillis).is_this);
  lease("other").release();
  EXPECT_TRUE(lease("one").take(kMillis).is_this);
}

TEST_P(WriterLeaseTest, WhoStopsWaitingKeepsNoOtherFromTheLease) {
  EXPECT_TRUE(lease("one").take(kMillis).is_this);
  EXPECT_FALSE(lease("other").take(kMillis).is_this);
  lease("one").release();
  sql("UPDATE writer_lease SET lease_until = 1 WHERE lease_owner = 'other'");
  EXPECT_TRUE(lease("one").take(kMillis).is_this);
  lease("one").release();
  sql("UPDATE writer_lease SET lease_until = lease_until + " + std::string(sql::database_now(dialect())) +
      " + 600000 WHERE lease_owner = 'other'");
  EXPECT_TRUE(lease("one").take(kMillis).is_this) << "it was noted by a clock that was ahead";
}

INSTANTIATE_TEST_SUITE_P(BackEnds, WriterLeaseTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::store
