// The counts of requests and deadlines for status, over every back end.
#include "schema/store/store_stats.h"

#include <gmock/gmock.h>

#include "schema/sql/database.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

class StoreStatsTest : public tests::StoreFixture {
 protected:
  void save(const std::string& key, RequestRecordState state, const std::string& error,
            bool deleted = false) {
    RequestRecordEntry request;
    request.record_id = key;
    request.number = "R-" + key;
    request.state = state;
    request.error = error;
    request.deleted = deleted;
    const RequestRecordEntryUpdate change{request, {}};
    ASSERT_FALSE(store_->request_records.save(std::span(&change, 1)).empty());
  }
  static std::int64_t of(const StoreStats& stats, RequestRecordState state) {
    return stats.requests[static_cast<std::size_t>(state)];
  }
};

TEST_P(StoreStatsTest, AnEmptyStoreHasNoCounts) {
  const StoreStats stats = store_stats(database_->address(), kSentAt, kSentAt);
  for (const RequestRecordState state : kAllRequestRecordStates) EXPECT_EQ(of(stats, state), 0);
  EXPECT_EQ(stats.requests_in_error, 0);
  EXPECT_EQ(stats.due_until_horizon, 0);
  EXPECT_EQ(stats.next_due, std::nullopt);
}

TEST_P(StoreStatsTest, CountsRequestRecordsWithTheirLastError) {
  save("1", RequestRecordState::pending, "");
  save("2", RequestRecordState::approved, "an older one");
  save("3", RequestRecordState::approved, "no such gift");
  save("4", RequestRecordState::sent, "of a rejection that came too late");
  save("5", RequestRecordState::approved, "gone", true);
  const StoreStats stats = store_stats(database_->address(), kSentAt, kSentAt);
  EXPECT_EQ(of(stats, RequestRecordState::pending), 1);
  EXPECT_EQ(of(stats, RequestRecordState::approved), 2) << "a deleted record is not counted";
  EXPECT_EQ(of(stats, RequestRecordState::sent), 1);
  EXPECT_EQ(stats.requests_in_error, 2);
  EXPECT_EQ(stats.last_request_in_error, "R-3");
  EXPECT_EQ(stats.request_error, "no such gift");
}

TEST_P(StoreStatsTest, CountsDeadlinesUntilTheHorizon) {
  const std::vector<TransactionId> ids{one_gift(), one_gift(), one_gift()};
  for (std::size_t i = 0; i < 2; ++i) {
    sql("UPDATE recipient_transaction SET due_at = " +
        std::to_string(kSentAt.value + 5 + 5 * static_cast<std::int64_t>(i)) +
        " WHERE id = " + std::to_string(ids[i].value));
  }
  const StoreStats stats = store_stats(database_->address(), kSentAt, {kSentAt.value + 7});
  EXPECT_EQ(stats.due_until_horizon, 1);
  EXPECT_EQ(stats.next_due, UtcMillis{kSentAt.value + 5});
}

// covers: TEST-7
TEST_P(StoreStatsTest, TestGiftsAreNotCounted) {
  NewGiftRequest request = request_for(1);
  request.request.credential_prefix = "gsk_test_abcdefg";
  request.request.is_test = true;
  store_->gifts.create(std::span(&request, 1));
  const auto counted = [&] {
    sql("UPDATE recipient_transaction SET due_at = " + std::to_string(kSentAt.value + 5) +
        ", sent_at = " + std::to_string(kSentAt.value + 2 * kHourMillis));
    return store_stats(database_->address(), kSentAt, {kSentAt.value + 7});
  };
  const StoreStats without = counted();
  EXPECT_EQ(without.due_until_horizon, 0);
  EXPECT_EQ(without.next_due, std::nullopt);
  EXPECT_EQ(without.gifts_in_future, 0);
  one_gift();
  const StoreStats with = counted();
  EXPECT_EQ(with.due_until_horizon, 1) << "the live gift";
  EXPECT_EQ(with.next_due, UtcMillis{kSentAt.value + 5});
  EXPECT_EQ(with.gifts_in_future, 1);
}

// OPS-27
TEST_P(StoreStatsTest, CountsGiftsWithTimesInTheFuture) {
  const UtcMillis soon{kSentAt.value + kHourMillis};
  const UtcMillis late{soon.value + 1};
  const TransactionId timely = one_gift();
  const TransactionId expired = one_gift();
  const TransactionId voided = one_gift();
  const TransactionId sent = one_gift();
  sql("UPDATE recipient_transaction SET sent_at = " + std::to_string(late.value) +
      " WHERE id = " + std::to_string(sent.value));
  const auto add = [&](TransactionId gift, Status status, UtcMillis at) {
    const StatusChange change{{}, "timer", gift, status, at, kSentAt, {}};
    store_->changes.accept(std::span(&change, 1));
  };
  add(timely, Status::opened, soon);
  add(expired, Status::expired, late);
  add(expired, Status::refunded, {late.value + 7});
  add(voided, Status::expired, late);
  add({999}, Status::opened, late);
  sql("UPDATE change_log SET voided_at = 1 WHERE transaction_id = " + std::to_string(voided.value));
  const auto counted = [&](UtcMillis now) {
    return store_stats(database_->address(), now, now).gifts_in_future;
  };
  EXPECT_EQ(counted(kSentAt), 2) << "neither the voided, nor the orphaned one";
  EXPECT_EQ(counted(late), 0) << "once their times have come";
}

INSTANTIATE_TEST_SUITE_P(BackEnds, StoreStatsTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::store
