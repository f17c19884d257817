// Conditional outcomes against a real store, with many at once (design 3.1).
#include "sync/decided_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "tests/schema/store_ground.h"

namespace giftsync::sync {
namespace {

using namespace schema;
using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class DecidedOutcomes : public StoreGround {
 protected:
  static StatusChange change(TransactionId gift, Status status, std::int64_t after,
                             Premise premise = Premise::none) {
    StatusChange one{{}, "pages", gift, status, kNow + after, kNow + after, {}};
    one.premise = premise;
    return one;
  }
  DecidedOutcome decide(const StatusChange& one) { return decide_outcome(store_->changes, one).outcome; }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, DecidedOutcomes, testing::Values(Dialect::sqlite, Dialect::postgresql),
                         name_of_dialect);

TEST_P(DecidedOutcomes, FiftyAtOnceEndInExactlyOne) {
  const TransactionId gift = one_gift();
  sql::Database codes(database_->address());
  codes.write([](soci::session& session) { session << "CREATE TABLE code (id BIGINT, taken BIGINT)"; });
  codes.write([](soci::session& session) {
    for (int i = 0; i < 50; ++i) session << "INSERT INTO code (id, taken) VALUES (:id, 0)", soci::use(i);
  });
  // Half of them through a second store object, as another process would.
  Store other(database_->address());
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> agreed = 0;
  {
    std::vector<std::jthread> racers;
    for (int i = 0; i < 50; ++i) {
      racers.emplace_back([&, i] {
        const StatusChange one = change(gift, i % 2 ? Status::redeemed : Status::donated, 10 + i);
        const Decided decided =
            decide_outcome((i % 4 < 2 ? *store_ : other).changes, one, [](soci::session& session) {
              session << "UPDATE code SET taken = 1 WHERE id = (SELECT min(id) FROM code WHERE taken = 0)";
              return true;
            });
        (decided.outcome == DecidedOutcome::accepted ? accepted : refused)++;
        const Status status = decided.stands.status;
        if (status == Status::redeemed || status == Status::donated) ++agreed;
      });
    }
  }
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(refused, 49);
  EXPECT_EQ(agreed, 50) << "whoever is refused is told what stands";
  EXPECT_THAT(store_->changes.history(gift), SizeIs(1));
  long long taken = 0;
  codes.read([&](soci::session& session) { session << "SELECT sum(taken) FROM code", soci::into(taken); });
  EXPECT_EQ(taken, 1) << "one code, handed out in the same transaction";
  EXPECT_THAT(store_->sync.claim("one", 60'000, 10, kNow + 100), SizeIs(1));
}

TEST_P(DecidedOutcomes, NothingIsAcceptedWhenNothingIsLeftToHandOut) {
  const TransactionId gift = one_gift();
  const Decided decided =
      decide_outcome(store_->changes, change(gift, Status::redeemed, 5), [](soci::session& session) {
        session << "UPDATE recipient_transaction SET email = 'taken'";
        return false;
      });
  EXPECT_EQ(decided.outcome, DecidedOutcome::nothing_to_hand_out);
  EXPECT_THAT(store_->changes.history(gift), SizeIs(0));
  EXPECT_EQ(store_->gifts.gifts(std::span(&gift, 1)).front().transaction.email, "ada@example.com")
      << "rolled back";
  EXPECT_EQ(decide(change(gift, Status::redeemed, 6)), DecidedOutcome::accepted);
}

TEST_P(DecidedOutcomes, TakesReportsFromOutsideIntoAccount) {
  const TransactionId gift = one_gift();
  StatusChange report = change(gift, Status::donated, 5);
  report.source = "vendor";
  store_->changes.accept(std::span(&report, 1));
  const Decided decided = decide_outcome(store_->changes, change(gift, Status::redeemed, 3));
  EXPECT_EQ(decided.outcome, DecidedOutcome::refused);
  EXPECT_EQ(decided.stands.status, Status::donated);
  EXPECT_EQ(decide(change({gift.value + 1}, Status::redeemed, 5)), DecidedOutcome::unknown_transaction);
}

TEST_P(DecidedOutcomes, TheTimersOfAGift) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(decide(change(gift, Status::refunded, 30, Premise::expired)), DecidedOutcome::refused)
      << "not expired yet";
  EXPECT_EQ(decide(change(gift, Status::expired, 30, Premise::unopened)), DecidedOutcome::accepted);
  EXPECT_EQ(decide(change(gift, Status::expired, 30, Premise::unopened)), DecidedOutcome::refused)
      << "it is done once";
  EXPECT_EQ(decide(change(gift, Status::redeemed, 40)), DecidedOutcome::refused);
  StatusChange late = change(gift, Status::opened, 20);
  store_->changes.accept(std::span(&late, 1));
  EXPECT_EQ(decide(change(gift, Status::refunded, 50, Premise::expired)), DecidedOutcome::refused)
      << "it had been opened before, so that it is not expired any more";
  EXPECT_EQ(decide(change(gift, Status::redeemed, 60)), DecidedOutcome::accepted);
}

TEST_P(DecidedOutcomes, AVoidedOutcomeFreesTheGift) {
  const TransactionId gift = one_gift();
  ASSERT_EQ(decide(change(gift, Status::redeemed, 5)), DecidedOutcome::accepted);
  const ChangeId id = store_->changes.history(gift).front().id;
  EXPECT_EQ(store_->changes.void_change(id, {kNow + 9, "ana", ""}), VoidOutcome::voided);
  EXPECT_EQ(decide(change(gift, Status::redeemed, 5)), DecidedOutcome::refused)
      << "the voided one stays voided";
  EXPECT_EQ(decide(change(gift, Status::donated, 12)), DecidedOutcome::accepted);
}

TEST_P(DecidedOutcomes, ARestoredOutcomeStandsAgainAndIsFlaggedWhereItContradicts) {
  const TransactionId gift = one_gift();
  ASSERT_EQ(decide(change(gift, Status::redeemed, 5)), DecidedOutcome::accepted);
  const ChangeId id = store_->changes.history(gift).front().id;
  store_->changes.void_change(id, {kNow + 9, "ana", ""});
  EXPECT_EQ(store_->changes.restore_change(id, {kNow + 10, "bob", ""}).kind, RestoreOutcome::Kind::restored);
  EXPECT_EQ(decide(change(gift, Status::donated, 11)), DecidedOutcome::refused);
  EXPECT_FALSE(fold(kNow, store_->changes.history(gift)).contradictory);

  store_->changes.void_change(id, {kNow + 12, "ana", ""});
  ASSERT_EQ(decide(change(gift, Status::donated, 13)), DecidedOutcome::accepted);
  EXPECT_EQ(store_->changes.restore_change(id, {kNow + 14, "bob", ""}).kind, RestoreOutcome::Kind::restored);
  const FoldedStatus stands = fold(kNow, store_->changes.history(gift));
  EXPECT_EQ(stands.status, Status::redeemed) << "the earlier one";
  EXPECT_TRUE(stands.contradictory);
}

}  // namespace
}  // namespace giftsync::sync
