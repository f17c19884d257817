// The latest run of each backfill (SYNC-72).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

class BackfillRuns : public tests::StoreFixture {
 protected:
  BackfillStore& backfill() { return store_->backfill; }
  void age(std::int64_t millis) {
    sql("UPDATE backfill_run SET seen_at = seen_at - " + std::to_string(millis));
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, BackfillRuns,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(BackfillRuns, TheLatestOfEachNameIsKept) {
  EXPECT_THAT(backfill().latest_runs(), IsEmpty());
  backfill().record_run(
      {.name = "status-timestamps", .started_at = kSentAt, .ended_at = {}, .summary = "b", .error = {}});
  backfill().record_run(
      {.name = "gift-records", .started_at = kSentAt, .ended_at = {}, .summary = "0 examined", .error = {}});
  backfill().record_run({.name = "gift-records",
                         .started_at = kSentAt,
                         .ended_at = kSentAt + 7,
                         .examined = 450,
                         .repaired = 3,
                         .differing = 2,
                         .summary = "450 \"examined\"",
                         .error = "the CRM's database is down"});
  const auto runs = backfill().latest_runs();
  ASSERT_THAT(runs, SizeIs(2));
  EXPECT_EQ(runs[0].name, "gift-records");
  EXPECT_EQ(runs[0].started_at, kSentAt);
  EXPECT_EQ(runs[0].ended_at, kSentAt + 7);
  EXPECT_EQ(runs[0].examined, 450);
  EXPECT_EQ(runs[0].repaired, 3);
  EXPECT_EQ(runs[0].differing, 2);
  EXPECT_EQ(runs[0].summary, "450 \"examined\"");
  EXPECT_EQ(runs[0].error, "the CRM's database is down");
  EXPECT_EQ(runs[1].name, "status-timestamps");
}

TEST_P(BackfillRuns, ASilentOneWasKilledWhenItWasLastSeen) {
  BackfillRun run{
      .name = "gift-records", .started_at = kSentAt, .ended_at = {}, .summary = "200 examined", .error = {}};
  backfill().record_run(run);
  age(14 * kMinuteMillis);
  EXPECT_FALSE(backfill().latest_runs().front().ended_at.has_value()) << "a long call";
  age(2 * kMinuteMillis);
  const BackfillRun killed = backfill().latest_runs().front();
  EXPECT_EQ(std::to_string(killed.ended_at.value_or(UtcMillis{}).value),
            scalar("SELECT cast(seen_at AS TEXT) FROM backfill_run"));
  EXPECT_EQ(killed.error, "it was killed, or its computer stopped");
  backfill().record_run(run);
  EXPECT_FALSE(backfill().latest_runs().front().ended_at.has_value()) << "its computer had slept";
  run.ended_at = kSentAt + 1;
  backfill().record_run(run);
  age(kDayMillis);
  EXPECT_EQ(backfill().latest_runs().front().ended_at, kSentAt + 1);
  EXPECT_EQ(backfill().latest_runs().front().error, "");
}

}  // namespace
}  // namespace giftsync::store
