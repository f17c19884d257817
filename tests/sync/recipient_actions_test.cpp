// A recipient's actions against a real store, also concurrently.
#include "sync/recipient_actions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr platform::UtcMillis kNow{1'800'000'000'000};

class RecipientActions : public tests::StoreFixture {
 protected:
  std::vector<schema::Status> history(schema::TransactionId gift) {
    std::vector<schema::Status> statuses;
    for (const schema::store::StatusChange& change : store_->changes.history(gift))
      statuses.push_back(change.status);
    return statuses;
  }
  void report(schema::TransactionId gift, schema::Status status, std::int64_t after) {
    const schema::store::StatusChange change{{}, "vendor", gift, status, kNow + after, kNow + after, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  FoldedStatus current_status_of(schema::TransactionId gift) {
    return current_status(store_->changes, store_->gifts.find(std::span(&gift, 1)).front().transaction);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, RecipientActions,
                         testing::Values(schema::sql::Dialect::sqlite, schema::sql::Dialect::postgresql),
                         tests::name_of_dialect);

// PAGE-8
TEST_P(RecipientActions, RedeemingAlsoOpens) {
  const schema::TransactionId gift = one_gift();
  EXPECT_EQ(redeem_or_donate(store_->changes, gift, schema::Status::redeemed, kNow + 5).outcome,
            schema::store::ConditionalOutcome::accepted);
  EXPECT_THAT(history(gift), testing::UnorderedElementsAre(schema::Status::opened, schema::Status::redeemed));
  const FoldedStatus state = current_status_of(gift);
  EXPECT_EQ(state.status, schema::Status::redeemed);
  EXPECT_EQ(state.times[schema::Status::opened], kNow + 5) << "never after the outcome";
  EXPECT_FALSE(state.has_conflict);
  const OutcomeResult again = redeem_or_donate(store_->changes, gift, schema::Status::donated, kNow + 9);
  EXPECT_EQ(again.outcome, schema::store::ConditionalOutcome::refused);
  EXPECT_EQ(again.state.status, schema::Status::redeemed);
  EXPECT_EQ(history(gift).size(), 2u);
}

TEST_P(RecipientActions, OpenedIsRecordedOnce) {
  const schema::TransactionId gift = one_gift();
  EXPECT_EQ(record_opened(store_->changes, gift, kNow + 1), schema::store::ConditionalOutcome::accepted);
  EXPECT_EQ(record_opened(store_->changes, gift, kNow + 2), schema::store::ConditionalOutcome::refused);
  redeem_or_donate(store_->changes, gift, schema::Status::donated, kNow + 3);
  EXPECT_EQ(record_opened(store_->changes, gift, kNow + 4), schema::store::ConditionalOutcome::refused);
  EXPECT_THAT(history(gift), ElementsAre(schema::Status::opened, schema::Status::donated));
  EXPECT_EQ(record_opened(store_->changes, {4711}, kNow),
            schema::store::ConditionalOutcome::unknown_transaction);
}

TEST_P(RecipientActions, LaterDatedOpeningDoesNotReplaceTheImpliedOne) {
  const schema::TransactionId gift = one_gift();
  report(gift, schema::Status::opened, 1000);  // from a clock that is ahead
  redeem_or_donate(store_->changes, gift, schema::Status::redeemed, kNow + 5);
  EXPECT_EQ(current_status_of(gift).times[schema::Status::opened], kNow + 5);
}

TEST_P(RecipientActions, EndedGiftRecordsNothing) {
  for (const schema::Status end :
       {schema::Status::expired, schema::Status::refunded, schema::Status::donated}) {
    const schema::TransactionId gift = one_gift();
    report(gift, end, 1);
    EXPECT_EQ(record_opened(store_->changes, gift, kNow + 2), schema::store::ConditionalOutcome::refused);
    EXPECT_EQ(redeem_or_donate(store_->changes, gift, schema::Status::redeemed, kNow + 3).outcome,
              schema::store::ConditionalOutcome::refused);
    EXPECT_THAT(history(gift), ElementsAre(end));
  }
}

TEST_P(RecipientActions, FailedEffectRecordsNothing) {
  const schema::TransactionId gift = one_gift();
  const auto none = [](soci::session&) { return false; };
  EXPECT_EQ(redeem_or_donate(store_->changes, gift, schema::Status::redeemed, kNow + 1, none).outcome,
            schema::store::ConditionalOutcome::effect_unavailable);
  EXPECT_THAT(history(gift), IsEmpty());
}

TEST_P(RecipientActions, OneOfManyConcurrentChoicesIsAccepted) {
  const schema::TransactionId gift = one_gift();
  schema::store::Store other(database_->address());  // like another process
  std::atomic<int> accepted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&, i] {
        schema::store::Store& store = i % 4 < 2 ? *store_ : other;
        const schema::Status choice = i % 2 ? schema::Status::redeemed : schema::Status::donated;
        accepted += redeem_or_donate(store.changes, gift, choice, kNow + 10 + i).outcome ==
                    schema::store::ConditionalOutcome::accepted;
      });
    }
  }
  EXPECT_EQ(accepted, 1);
  EXPECT_FALSE(current_status_of(gift).has_conflict);
}

}  // namespace
}  // namespace giftsync::sync
