// A recipient's actions against a real store, also concurrently.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "sync/gift/gift_actions.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};

class RecipientActions : public tests::StoreFixture {
 protected:
  std::vector<Status> history(TransactionId gift) {
    std::vector<Status> statuses;
    for (const store::StatusChange& change : store_->changes.history(gift)) statuses.push_back(change.status);
    return statuses;
  }
  void report(TransactionId gift, Status status, std::int64_t after) {
    const store::StatusChange change{{}, "vendor", gift, status, kNow + after, kNow + after, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  FoldedStatus current_status_of(TransactionId gift) {
    return current_status(store_->changes, store_->gifts.find(std::span(&gift, 1)).front().transaction);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, RecipientActions,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// PAGE-8
TEST_P(RecipientActions, RedeemingAlsoOpens) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(redeem_or_donate(store_->changes, gift, Status::redeemed, kNow + 5).outcome,
            store::ConditionalOutcome::accepted);
  EXPECT_THAT(history(gift), testing::UnorderedElementsAre(Status::opened, Status::redeemed));
  const FoldedStatus state = current_status_of(gift);
  EXPECT_EQ(state.status, Status::redeemed);
  EXPECT_EQ(state.times[Status::opened], kNow + 5) << "never after the outcome";
  EXPECT_FALSE(state.has_conflict);
  const OutcomeResult again = redeem_or_donate(store_->changes, gift, Status::donated, kNow + 9);
  EXPECT_EQ(again.outcome, store::ConditionalOutcome::refused);
  EXPECT_EQ(again.state.status, Status::redeemed);
  EXPECT_EQ(history(gift).size(), 2u);
}

TEST_P(RecipientActions, OpenedIsRecordedOnce) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(record_opened(store_->changes, gift, kNow + 1), store::ConditionalOutcome::accepted);
  EXPECT_EQ(record_opened(store_->changes, gift, kNow + 2), store::ConditionalOutcome::refused);
  redeem_or_donate(store_->changes, gift, Status::donated, kNow + 3);
  EXPECT_EQ(record_opened(store_->changes, gift, kNow + 4), store::ConditionalOutcome::refused);
  EXPECT_THAT(history(gift), ElementsAre(Status::opened, Status::donated));
  EXPECT_EQ(record_opened(store_->changes, {4711}, kNow), store::ConditionalOutcome::unknown_transaction);
}

TEST_P(RecipientActions, LaterDatedOpeningDoesNotReplaceTheImpliedOne) {
  const TransactionId gift = one_gift();
  report(gift, Status::opened, 1000);  // from a clock that is ahead
  redeem_or_donate(store_->changes, gift, Status::redeemed, kNow + 5);
  EXPECT_EQ(current_status_of(gift).times[Status::opened], kNow + 5);
}

TEST_P(RecipientActions, EndedGiftRecordsNothing) {
  for (const Status end : {Status::expired, Status::refunded, Status::donated}) {
    const TransactionId gift = one_gift();
    report(gift, end, 1);
    EXPECT_EQ(record_opened(store_->changes, gift, kNow + 2), store::ConditionalOutcome::refused);
    EXPECT_EQ(redeem_or_donate(store_->changes, gift, Status::redeemed, kNow + 3).outcome,
              store::ConditionalOutcome::refused);
    EXPECT_THAT(history(gift), ElementsAre(end));
  }
}

TEST_P(RecipientActions, FailedEffectRecordsNothing) {
  const TransactionId gift = one_gift();
  const auto none = [](soci::session&) { return false; };
  EXPECT_EQ(redeem_or_donate(store_->changes, gift, Status::redeemed, kNow + 1, none).outcome,
            store::ConditionalOutcome::effect_unavailable);
  EXPECT_THAT(history(gift), IsEmpty());
}

TEST_P(RecipientActions, OneOfManyConcurrentChoicesIsAccepted) {
  const TransactionId gift = one_gift();
  store::Store other(database_->address());  // like another process
  std::atomic<int> accepted = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 20; ++i) {
      threads.emplace_back([&, i] {
        store::Store& store = i % 4 < 2 ? *store_ : other;
        const Status choice = i % 2 ? Status::redeemed : Status::donated;
        accepted += redeem_or_donate(store.changes, gift, choice, kNow + 10 + i).outcome ==
                    store::ConditionalOutcome::accepted;
      });
    }
  }
  EXPECT_EQ(accepted, 1);
  EXPECT_FALSE(current_status_of(gift).has_conflict);
}

}  // namespace
}  // namespace giftsync::sync
