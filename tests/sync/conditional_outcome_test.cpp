// Conditional outcomes against a real store, also concurrently (STATUS-7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "schema/sql/database.h"
#include "sync/status/status_rules.h"
#include "tests/support/store_fixture.h"

namespace giftsync::sync {
namespace {

using testing::SizeIs;

constexpr UtcMillis kNow{1'800'000'000'000};

class ConditionalOutcomes : public tests::StoreFixture {
 protected:
  static store::StatusChange change(TransactionId gift, Status status, std::int64_t after,
                                    Premise premise = Premise::none) {
    store::StatusChange one{{}, "pages", gift, status, kNow + after, kNow + after, {}};
    one.premise = premise;
    return one;
  }
  store::ConditionalOutcome decide(const store::StatusChange& one) {
    return apply_conditional_outcome(store_->changes, one).outcome;
  }
};

INSTANTIATE_TEST_SUITE_P(BackEnds, ConditionalOutcomes,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(ConditionalOutcomes, OnlyOneOfFiftyConcurrentOutcomesIsAccepted) {
  const TransactionId gift = one_gift();
  sql::Database codes(database_->address());
  codes.write([](soci::session& session) { session << "CREATE TABLE code (id BIGINT, taken BIGINT)"; });
  codes.write([](soci::session& session) {
    for (int i = 0; i < 50; ++i) session << "INSERT INTO code (id, taken) VALUES (:id, 0)", soci::use(i);
  });
  // Half of them through a second store object, like another process.
  store::Store other(database_->address());
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  std::atomic<int> agreed = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 50; ++i) {
      threads.emplace_back([&, i] {
        const store::StatusChange one = change(gift, i % 2 ? Status::redeemed : Status::donated, 10 + i);
        const OutcomeResult decided =
            apply_conditional_outcome((i % 4 < 2 ? *store_ : other).changes, one, [](soci::session& session) {
              session << "UPDATE code SET taken = 1 WHERE id = (SELECT min(id) FROM code WHERE taken = 0)";
              return true;
            });
        (decided.outcome == store::ConditionalOutcome::accepted ? accepted : refused)++;
        const Status status = decided.state.status;
        if (status == Status::redeemed || status == Status::donated) ++agreed;
      });
    }
  }
  EXPECT_EQ(accepted, 1);
  EXPECT_EQ(refused, 49);
  EXPECT_EQ(agreed, 50) << "a refusal returns the accepted state";
  EXPECT_THAT(store_->changes.history(gift), SizeIs(1));
  long long taken = 0;
  codes.read([&](soci::session& session) { session << "SELECT sum(taken) FROM code", soci::into(taken); });
  EXPECT_EQ(taken, 1) << "one code, issued in the same transaction";
  EXPECT_THAT(store_->sync.claim("one", 60'000, 10, kNow + 100), SizeIs(1));
}

TEST_P(ConditionalOutcomes, OutcomeIsRolledBackWhenTheEffectFails) {
  const TransactionId gift = one_gift();
  const OutcomeResult decided = apply_conditional_outcome(
      store_->changes, change(gift, Status::redeemed, 5), [](soci::session& session) {
        session << "UPDATE recipient_transaction SET email = 'taken'";
        return false;
      });
  EXPECT_EQ(decided.outcome, store::ConditionalOutcome::effect_unavailable);
  EXPECT_THAT(store_->changes.history(gift), SizeIs(0));
  EXPECT_EQ(store_->gifts.find(std::span(&gift, 1)).front().transaction.email, "ada@example.com")
      << "rolled back";
  EXPECT_EQ(decide(change(gift, Status::redeemed, 6)), store::ConditionalOutcome::accepted);
}

// STATUS-10
TEST_P(ConditionalOutcomes, ReportsOfExternalSourcesCount) {
  const TransactionId gift = one_gift();
  store::StatusChange report = change(gift, Status::donated, 5);
  report.source = "vendor";
  store_->changes.accept(std::span(&report, 1));
  const OutcomeResult decided = apply_conditional_outcome(store_->changes, change(gift, Status::redeemed, 3));
  EXPECT_EQ(decided.outcome, store::ConditionalOutcome::refused);
  EXPECT_EQ(decided.state.status, Status::donated);
  EXPECT_EQ(decide(change({gift.value + 1}, Status::redeemed, 5)),
            store::ConditionalOutcome::unknown_transaction);
}

TEST_P(ConditionalOutcomes, TimerOutcomes) {
  const TransactionId gift = one_gift();
  EXPECT_EQ(decide(change(gift, Status::refunded, 30, Premise::expired)), store::ConditionalOutcome::refused)
      << "not expired yet";
  EXPECT_EQ(decide(change(gift, Status::expired, 30, Premise::unopened)),
            store::ConditionalOutcome::accepted);
  EXPECT_EQ(decide(change(gift, Status::expired, 30, Premise::unopened)), store::ConditionalOutcome::refused)
      << "it is accepted once";
  EXPECT_EQ(decide(change(gift, Status::redeemed, 40)), store::ConditionalOutcome::refused);
  store::StatusChange late = change(gift, Status::opened, 20);
  store_->changes.accept(std::span(&late, 1));
  EXPECT_EQ(decide(change(gift, Status::refunded, 50, Premise::expired)), store::ConditionalOutcome::refused)
      << "it had been opened before, so that it is not expired any more";
  EXPECT_EQ(decide(change(gift, Status::redeemed, 60)), store::ConditionalOutcome::accepted);
}

TEST_P(ConditionalOutcomes, VoidedOutcomeReopensTheGift) {
  const TransactionId gift = one_gift();
  ASSERT_EQ(decide(change(gift, Status::redeemed, 5)), store::ConditionalOutcome::accepted);
  const ChangeId id = store_->changes.history(gift).front().id;
  EXPECT_EQ(store_->changes.void_change(id, {kNow + 9, "ana", ""}), store::VoidOutcome::voided);
  EXPECT_EQ(decide(change(gift, Status::redeemed, 5)), store::ConditionalOutcome::refused)
      << "the voided one stays voided";
  EXPECT_EQ(decide(change(gift, Status::donated, 12)), store::ConditionalOutcome::accepted);
}

// STATUS-25
TEST_P(ConditionalOutcomes, RestoredOutcomeCountsAgainAndConflictsAreFlagged) {
  const TransactionId gift = one_gift();
  ASSERT_EQ(decide(change(gift, Status::redeemed, 5)), store::ConditionalOutcome::accepted);
  const ChangeId id = store_->changes.history(gift).front().id;
  store_->changes.void_change(id, {kNow + 9, "ana", ""});
  EXPECT_EQ(store_->changes.restore_change(id, {kNow + 10, "bob", ""}).kind,
            store::RestoreOutcome::Kind::restored);
  EXPECT_EQ(decide(change(gift, Status::donated, 11)), store::ConditionalOutcome::refused);
  EXPECT_FALSE(fold(kNow, store_->changes.history(gift)).has_conflict);

  store_->changes.void_change(id, {kNow + 12, "ana", ""});
  ASSERT_EQ(decide(change(gift, Status::donated, 13)), store::ConditionalOutcome::accepted);
  EXPECT_EQ(store_->changes.restore_change(id, {kNow + 14, "bob", ""}).kind,
            store::RestoreOutcome::Kind::restored);
  const FoldedStatus folded = fold(kNow, store_->changes.history(gift));
  EXPECT_EQ(folded.status, Status::redeemed) << "the earlier one";
  EXPECT_TRUE(folded.has_conflict);
}

}  // namespace
}  // namespace giftsync::sync
