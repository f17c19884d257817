// What a recipient does, against a real store, with many at once.
#include "sync/recipient_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/schema/store_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr UtcMillis kNow{1'800'000'000'000};

class RecipientChoice : public StoreGround {
 protected:
  std::vector<Status> history(TransactionId gift) {
    std::vector<Status> statuses;
    for (const StatusChange& change : store_->changes.history(gift)) statuses.push_back(change.status);
    return statuses;
  }
  void report(TransactionId gift, Status status, std::int64_t after) {
    const StatusChange change{{}, "vendor", gift, status, kNow + after, kNow + after, {}};
    store_->changes.accept(std::span(&change, 1));
  }
  FoldedStatus standing_of(TransactionId gift) {
    return standing(store_->changes, store_->gifts.gifts(std::span(&gift, 1)).front().transaction);
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, RecipientChoice, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(RecipientChoice, IsOpenedAndDecidedAtOnce) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(choose(store_->changes, gift, Status::redeemed, kNow + 5).outcome, DecidedOutcome::accepted);
  EXPECT_THAT(history(gift), testing::UnorderedElementsAre(Status::opened, Status::redeemed));
  const FoldedStatus state = standing_of(gift);
  EXPECT_EQ(state.status, Status::redeemed);
  EXPECT_EQ(state.times[Status::opened], kNow + 5) << "never after the outcome";
  EXPECT_FALSE(state.contradictory);
  const Decided again = choose(store_->changes, gift, Status::donated, kNow + 9);
  EXPECT_EQ(again.outcome, DecidedOutcome::refused);
  EXPECT_EQ(again.stands.status, Status::redeemed);
  EXPECT_EQ(history(gift).size(), 2u);
}

TEST_P(RecipientChoice, IsOpenedOnce) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(note_opened(store_->changes, gift, kNow + 1), DecidedOutcome::accepted);
  EXPECT_EQ(note_opened(store_->changes, gift, kNow + 2), DecidedOutcome::refused);
  choose(store_->changes, gift, Status::donated, kNow + 3);
  EXPECT_EQ(note_opened(store_->changes, gift, kNow + 4), DecidedOutcome::refused);
  EXPECT_THAT(history(gift), ElementsAre(Status::opened, Status::donated));
  EXPECT_EQ(note_opened(store_->changes, {4711}, kNow), DecidedOutcome::unknown_transaction);
}

TEST_P(RecipientChoice, AnOpeningDatedLaterDoesNotSpareTheChoiceItsOwn) {
  const TransactionId gift = one_gift();
  report(gift, Status::opened, 1000);  // of a clock that goes ahead
  choose(store_->changes, gift, Status::redeemed, kNow + 5);
  EXPECT_EQ(standing_of(gift).times[Status::opened], kNow + 5);
}

TEST_P(RecipientChoice, NothingIsNotedOfAGiftThatIsOver) {
  for (const Status end : {Status::expired, Status::refunded, Status::donated}) {
    const TransactionId gift = one_gift();
    report(gift, end, 1);
    EXPECT_EQ(note_opened(store_->changes, gift, kNow + 2), DecidedOutcome::refused);
    EXPECT_EQ(choose(store_->changes, gift, Status::redeemed, kNow + 3).outcome, DecidedOutcome::refused);
    EXPECT_THAT(history(gift), ElementsAre(end));
  }
}

TEST_P(RecipientChoice, WithNothingToHandOutNothingStands) {
  const TransactionId gift = one_gift();
  const auto none = [](soci::session&) { return false; };
  EXPECT_EQ(choose(store_->changes, gift, Status::redeemed, kNow + 1, none).outcome,
            DecidedOutcome::nothing_to_hand_out);
  EXPECT_THAT(history(gift), IsEmpty());
}

TEST_P(RecipientChoice, OfManyAtOnceOneStands) {
  const TransactionId gift = one_gift();
  Store other(database_->address());  // as another process
  std::atomic<int> accepted = 0;
  {
    std::vector<std::jthread> racers;
    for (int i = 0; i < 20; ++i) {
      racers.emplace_back([&, i] {
        Store& store = i % 4 < 2 ? *store_ : other;
        const Status choice = i % 2 ? Status::redeemed : Status::donated;
        accepted += choose(store.changes, gift, choice, kNow + 10 + i).outcome == DecidedOutcome::accepted;
      });
    }
  }
  EXPECT_EQ(accepted, 1);
  EXPECT_FALSE(standing_of(gift).contradictory);
}

}  // namespace
}  // namespace giftsync::sync
