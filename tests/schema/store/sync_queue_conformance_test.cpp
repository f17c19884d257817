// The sync queue over every back end: marks are claimed under a lease, closed, retried and never lost, and
// what a batch writes to the store it writes over what it read.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "schema/store/statements/claims.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class SyncQueueConformance : public tests::StoreFixture {
 protected:
  static constexpr UtcMillis kNow = kSentAt;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, SyncQueueConformance,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

// ARCH-17
TEST_P(SyncQueueConformance, ClaimsARowOnceUntilItsLeaseExpires) {
  one_gift();
  ASSERT_THAT(store_->sync.claim("a", 60'000, 10, kNow), SizeIs(1));
  EXPECT_THAT(store_->sync.claim("b", 60'000, 10, kNow), IsEmpty());
  store_->sync.release_leases({"b"});
  EXPECT_THAT(store_->sync.claim("b", 60'000, 10, kNow), IsEmpty()) << "only one's own leases can be broken";
  store_->sync.release_leases({"a"});
  EXPECT_THAT(store_->sync.claim("b", -1, 10, kNow), SizeIs(1)) << "a lease that has run out already";
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow), SizeIs(1));
}

// ARCH-44
TEST_P(SyncQueueConformance, ClaimsBeginAtTheSmallestTimeAndLookBelowItLater) {
  const auto insert = [&](std::int64_t first, std::size_t count, UtcMillis due) {
    sql("INSERT INTO crm_outbox (transaction_id, mark_seq, next_attempt_at, attempts, lease_owner, "
        "lease_until, "
        "last_error) WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < " +
        std::to_string(count) + ") SELECT " + std::to_string(first) + " + i, 1, " +
        std::to_string(due.value) + ", 0, '', 0, '' FROM n");
  };
  insert(1, ClaimLowerBound::kManyRows, kNow);
  ASSERT_THAT(store_->sync.claim("a", 60'000, ClaimLowerBound::kManyRows, kNow),
              SizeIs(ClaimLowerBound::kManyRows));
  sql("DELETE FROM crm_outbox");
  ASSERT_THAT(store_->sync.claim("a", 60'000, 10, kNow), IsEmpty());
  insert(5001, 1, kNow - 2 * ClaimLowerBound::kLateMillis);
  std::size_t claimed = store_->sync.claim("a", 60'000, 10, kNow + 1000).size();
  EXPECT_EQ(claimed, GetParam() == sql::Dialect::postgresql ? 0u : 1u) << "dead rows below are not read";
  claimed += store_->sync.claim("a", 60'000, 10, kNow + ClaimLowerBound::kWholeLookMillis).size();
  EXPECT_EQ(claimed, 1u);
}

/// Whether a transaction that changes the marks of two gifts, or the gifts, in another way locks the first
/// one's row first: while another transaction holds that, the second one's row is free.
class LockOrder : public SyncQueueConformance {
 protected:
  void SetUp() override {
    SyncQueueConformance::SetUp();
    if (IsSkipped()) return;
    const NewGiftRequest request = request_for(2);
    const auto outcomes = store_->gifts.create(std::span(&request, 1));
    for (const auto& made : outcomes.front().recipients) ids_.push_back(made.id);
    claims_ = store_->sync.claim("a", 60'000, 10, kNow);
    ASSERT_THAT(claims_, SizeIs(2));
    // The table is now in another order than the ids.
    sql("UPDATE crm_outbox SET last_error = 'x' WHERE transaction_id = " + std::to_string(ids_[0].value));
  }
  template <class Change>
  void expect_ordered(Change&& change, const std::string& rows = "crm_outbox WHERE transaction_id = ") {
    sql::Database other(address());
    std::thread changing;
    other.write([&](soci::session& session) {
      session << "SELECT 1 FROM " + rows + std::to_string(ids_[0].value) + " FOR UPDATE";
      changing = std::thread(change);
      const std::string blocked =
          "SELECT cast(count(*) AS TEXT) FROM pg_stat_activity WHERE datname = current_database() AND "
          "wait_event_type = 'Lock'";
      sql::Database watching(address());
      const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (tests::scalar(watching, blocked) == "0" && std::chrono::steady_clock::now() < deadline)
        std::this_thread::yield();
      EXPECT_NE(tests::scalar(watching, blocked), "0") << "it changes nothing of the first gift";
      EXPECT_NO_THROW(session << "SELECT 1 FROM " + rows + std::to_string(ids_[1].value) +
                                     " FOR UPDATE NOWAIT");
    });
    changing.join();
  }

  std::vector<TransactionId> ids_;
  std::vector<SyncClaim> claims_;
};

INSTANTIATE_TEST_SUITE_P(BackEnds, LockOrder, testing::Values(sql::Dialect::postgresql),
                         tests::name_of_dialect);

// ARCH-40
TEST_P(LockOrder, IsTheSameForReportsClosesAndReleases) {
  const auto claim_of = [&](TransactionId id) {
    return *std::find_if(claims_.begin(), claims_.end(),
                         [id](const SyncClaim& claim) { return claim.transaction == id; });
  };
  expect_ordered([&] {
    std::vector<StatusChange> changes;
    for (const TransactionId id : {ids_[1], ids_[0]})
      changes.push_back({{}, "import", id, Status::opened, kNow + 10, kNow + 10, {}});
    store_->changes.accept(changes);
  });
  expect_ordered([&] {
    WriteGroup group;
    InboundBatch& message = group.messages.emplace_back();
    message.source = "import";
    message.now = kNow + 10;
    message.items.emplace_back().change =
        StatusChange{{}, "import", ids_[1], Status::redeemed, kNow + 10, kNow + 10, {}};
    group.decisions = {{{{}, "page", ids_[0], Status::redeemed, kNow + 10, kNow + 10, {}},
                        [](UtcMillis, std::span<const ChangeSpan>) { return true; },
                        {}}};
    store_->urgent_writes.write(group, [] { return false; });
  });
  expect_ordered([&] { store_->sync.cap_leases(1'000); });
  sql("UPDATE crm_outbox SET next_attempt_at = " + std::to_string((kNow + kHourMillis).value));
  expect_ordered([&] { store_->sync.reset_scheduled_after(kNow + 1'000, kNow); });
  expect_ordered([&] {
    const std::vector<SyncClose> closes{{claim_of(ids_[1]), true, kNow, "", std::nullopt},
                                        {claim_of(ids_[0]), true, kNow, "", std::nullopt}};
    store_->sync.close("a", closes);
  });
  store_->sync.claim("a", 60'000, 10, kNow + 20);
  expect_ordered([&] { store_->sync.release_with_error("a", "fault"); });
  store_->sync.claim("a", 60'000, 10, kNow + 20);
  expect_ordered([&] { store_->sync.release_leases({"a"}); });
}

// ARCH-40
TEST_P(LockOrder, IsTheSameForGiftsThatAreFoldedRewrittenAndDecided) {
  const std::string gifts = "recipient_transaction WHERE id = ";
  expect_ordered(
      [&] {
        std::vector<FoldedState> folded;
        for (const TransactionId id : {ids_[1], ids_[0]}) {
          FoldedState& one = folded.emplace_back();
          one.transaction = id;
          one.from_version = 1;
          one.times[Status::sent] = kNow;
        }
        EXPECT_THAT(store_->sync.save_folded(folded), SizeIs(2));
      },
      gifts);
  expect_ordered(
      [&] {
        const std::vector<RecordRewrite> rewrites{{ids_[1], 2, 0}, {ids_[0], 2, 0}};
        EXPECT_THAT(store_->backfill.rewrite(rewrites, kNow), SizeIs(2));
      },
      gifts);
  expect_ordered(
      [&] {
        WriteGroup group;
        for (const TransactionId id : {ids_[1], ids_[0]})
          group.decisions.push_back({{{}, "page", id, Status::redeemed, kNow + 10, kNow + 10, {}},
                                     [](UtcMillis, std::span<const ChangeSpan>) { return true; },
                                     {}});
        store_->urgent_writes.write(group, [] { return false; });
      },
      gifts);
}

// SYNC-24
TEST_P(SyncQueueConformance, RenewsTheClaimsThatAreStillHeld) {
  one_gift();
  one_gift();
  const auto claims = store_->sync.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(2));
  const std::string before = scalar("SELECT cast(max(lease_until) AS TEXT) FROM crm_outbox");
  EXPECT_THAT(store_->sync.renew("a", 60'000, claims), SizeIs(2));
  EXPECT_EQ(scalar("SELECT cast(max(lease_until) AS TEXT) FROM crm_outbox"), before) << "nothing was written";
  sql("UPDATE crm_outbox SET lease_until = lease_until - 31000");
  EXPECT_THAT(store_->sync.renew("a", 60'000, claims), SizeIs(2));
  EXPECT_GE(scalar("SELECT cast(min(lease_until) AS TEXT) FROM crm_outbox"), before);
  EXPECT_THAT(store_->sync.renew("b", 60'000, claims), IsEmpty());
  sql("UPDATE crm_outbox SET lease_until = 0 WHERE transaction_id = " +
      std::to_string(claims[0].transaction.value));
  ASSERT_THAT(store_->sync.claim("b", 60'000, 10, kNow), SizeIs(1));
  const auto held = store_->sync.renew("a", 60'000, claims);
  ASSERT_THAT(held, SizeIs(1));
  EXPECT_EQ(held[0].transaction, claims[1].transaction);
}

// CON-25, CON-50
TEST_P(SyncQueueConformance, ARowTellsSinceWhenItFails) {
  const TransactionId id = one_gift();
  const auto since = [&] {
    return std::stoll(scalar("SELECT cast(failing_since AS TEXT) FROM crm_outbox WHERE transaction_id = " +
                             std::to_string(id.value)));
  };
  EXPECT_EQ(since(), 0);
  const auto fail = [&] {
    const SyncClose failed{store_->sync.claim("a", 60'000, 10, kNow).at(0), false, kNow, "no", std::nullopt};
    store_->sync.close("a", std::span(&failed, 1));
  };
  fail();
  const long long first = since();
  EXPECT_GT(first, 0);
  sql("UPDATE crm_outbox SET failing_since = 7");
  fail();
  EXPECT_EQ(since(), 7) << "the first failure counts";
  sql("UPDATE crm_outbox SET failing_since = 0, failed_at = 5");
  ASSERT_THAT(store_->sync.claim("a", 60'000, 10, kNow), SizeIs(1));
  store_->sync.release_with_error("a", "the CRM is down");
  EXPECT_GE(since(), first);
  const auto failed_at = [&] { return scalar("SELECT cast(failed_at AS TEXT) FROM crm_outbox"); };
  EXPECT_EQ(failed_at(), "5") << "a fault of the whole CRM is no attempt";
  SyncClose failed{store_->sync.claim("a", 60'000, 10, kNow).at(0), false, kNow, "no", std::nullopt};
  failed.failed_at = {9};
  store_->sync.close("a", std::span(&failed, 1));
  EXPECT_EQ(failed_at(), "9");
  SyncClose put_off{store_->sync.claim("a", 60'000, 10, kNow).at(0), false, kNow, "the CRM is down",
                    std::nullopt};
  put_off.is_attempt = false;
  store_->sync.close("a", std::span(&put_off, 1));
  EXPECT_EQ(failed_at(), "9") << "it was not tried";
}

// OPS-40
TEST_P(SyncQueueConformance, AClaimSaysSinceWhenTheCrmLacksTheGift) {
  one_gift();
  const auto due_since = [&] {
    const UtcMillis since = store_->sync.claim("a", 60'000, 10, kNow + kDayMillis).at(0).due_since;
    store_->sync.release_leases({"a"});
    return since;
  };
  EXPECT_EQ(due_since(), kSentAt);
  sql("UPDATE crm_outbox SET attempts = 3, next_attempt_at = next_attempt_at + 60000, failing_since = 9000");
  EXPECT_EQ(due_since(), UtcMillis{9000}) << "a later try is no later change";
  sql("UPDATE crm_outbox SET attempts = 0, next_attempt_at = 8000");
  EXPECT_EQ(due_since(), UtcMillis{8000}) << "it was due before the whole CRM failed";
}

// SYNC-25
TEST_P(SyncQueueConformance, ARejectedRowIsDueOnRequestOnly) {
  const TransactionId id = one_gift();
  SyncClose rejected{store_->sync.claim("a", 60'000, 10, kNow).at(0), false, kNow + kDayMillis, "no",
                     std::nullopt};
  rejected.is_rejected = true;
  store_->sync.close("a", std::span(&rejected, 1));
  store_->sync.end_debounce(kNow);
  EXPECT_EQ(store_->sync.reset_scheduled_after(kNow, kNow), 0);
  EXPECT_EQ(store_->sync.reset_rejected_after(kNow + kDayMillis, kNow), 0);
  const std::vector<TransactionId> ids{id, {id.value + 1}};
  EXPECT_EQ(store_->sync.reset_rejected(ids, kNow), 1);
  EXPECT_EQ(store_->sync.reset_rejected(ids, kNow), 0) << "it is due already";
  AuditEvent event;
  event.action = "crm.retry";
  store_->sync.reset_rejected(ids, kNow, event);
  EXPECT_THAT(store_->audit.list(Viewer::of_command_line(), {}, 9), IsEmpty()) << "nothing was changed";
  sql("UPDATE crm_outbox SET next_attempt_at = next_attempt_at + 5");
  EXPECT_EQ(store_->sync.reset_rejected(ids, kNow, event), 1);
  EXPECT_EQ(store_->audit.list(Viewer::of_command_line(), {}, 9).at(0).detail, "1");
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow), SizeIs(1));
  EXPECT_TRUE(store_->sync.find_wait(id)->is_rejected);
  store_->sync.release_with_error("a", "the CRM is down");  // SYNC-26
  const auto wait = store_->sync.find_wait(id);
  EXPECT_FALSE(wait->is_rejected) << "the CRM did not look at it";
  EXPECT_EQ(wait->attempts, 1) << "how long it rests next is kept";
  EXPECT_EQ(store_->sync.counts().rejected, 0);
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow), SizeIs(1)) << "it is due";
}

// CON-8
TEST_P(SyncQueueConformance, TheEventOfARetryIsInItsTransaction) {
  one_gift();
  one_gift();
  const std::string rest =
      "UPDATE crm_outbox SET is_rejected = 1, next_attempt_at = " + std::to_string(kNow.value + kHourMillis);
  AuditEvent event;
  event.action = "crm.retry";
  const auto details = [&] {
    std::vector<std::string> found;
    for (const AuditEvent& one : store_->audit.list(Viewer::of_command_line(), {}, 9))
      found.push_back(one.detail);
    return found;
  };
  sql(rest);
  EXPECT_EQ(store_->sync.reset_rejected_after(kNow, kNow, event), 2);
  EXPECT_THAT(details(), testing::ElementsAre("2"));
  EXPECT_EQ(store_->sync.reset_rejected_after(kNow, kNow, event), 0);
  EXPECT_THAT(details(), SizeIs(1)) << "nothing was changed";
  sql(rest);
  sql("ALTER TABLE audit_event RENAME TO audit_event_away");
  EXPECT_THROW(store_->sync.reset_rejected_after(kNow, kNow, event), std::exception);
  sql("ALTER TABLE audit_event_away RENAME TO audit_event");
  EXPECT_EQ(scalar("SELECT cast(count(*) AS TEXT) FROM crm_outbox WHERE next_attempt_at > " +
                   std::to_string(kNow.value)),
            "2")
      << "without its event nothing is changed";
}

// SYNC-25
TEST_P(SyncQueueConformance, ResettingAndClaimingUseTheIndexOfWhatIsDue) {
  const bool is_sqlite = dialect() == sql::Dialect::sqlite;
  const auto plan_of = [&](const std::string& condition) {
    const std::string select = "SELECT transaction_id FROM crm_outbox WHERE " + condition +
                               " ORDER BY (next_attempt_at / 10000), transaction_id LIMIT 200";
    std::string plan;
    sql::Database database(address());
    database.write([&](soci::session& session) {
      if (!is_sqlite) {
        session << "SET LOCAL enable_seqscan = off";  // a small table would be scanned
        session << "SET LOCAL enable_sort = off";
      }
      const soci::rowset<soci::row> rows =
          (session.prepare << (is_sqlite ? "EXPLAIN QUERY PLAN " : "EXPLAIN ") + select);
      for (const soci::row& row : rows) plan += row.get<std::string>(is_sqlite ? 3 : 0) + "\n";
    });
    return plan;
  };
  for (const std::string condition :
       {"(next_attempt_at / 10000) <= 5 AND next_attempt_at <= 57000 AND lease_until < 1",
        "(next_attempt_at / 10000) >= 5 AND next_attempt_at > 57000 AND is_rejected = 1"}) {
    EXPECT_THAT(plan_of(condition), testing::HasSubstr("crm_outbox_due")) << condition;
    EXPECT_THAT(plan_of(condition), testing::Not(testing::HasSubstr("Sort"))) << condition;
    EXPECT_THAT(plan_of(condition), testing::Not(testing::HasSubstr("TEMP B-TREE"))) << condition;
  }
}

TEST_P(SyncQueueConformance, DoesNotClaimBeforeItIsDue) {
  one_gift();
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow - 1), IsEmpty());
}

TEST_P(SyncQueueConformance, KeepsARowThatChangedDuringTheSync) {
  const TransactionId id = one_gift();
  auto claims = store_->sync.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(1));
  const StatusChange change{{}, "import", id, Status::opened, kNow + 10, kNow + 10, {}};
  store_->changes.accept(std::span(&change, 1));
  const SyncClose closed{claims[0], true, kNow, "", std::nullopt};
  store_->sync.close("a", std::span(&closed, 1));
  claims = store_->sync.claim("a", 60'000, 10, kNow + 10);
  ASSERT_THAT(claims, SizeIs(1)) << "the change that came meanwhile was closed with the old one";
  const SyncClose again{claims[0], true, kNow, "", std::nullopt};
  store_->sync.close("a", std::span(&again, 1));
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow + 10), IsEmpty());
}

TEST_P(SyncQueueConformance, SchedulesARetryOfAnUnfinishedClose) {
  one_gift();
  const auto claims = store_->sync.claim("a", 60'000, 10, kNow);
  const SyncClose failed{claims[0], false, kNow + 2000, "CRM is down", std::nullopt};
  store_->sync.close("a", std::span(&failed, 1));
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow + 1999), IsEmpty());
  EXPECT_EQ(store_->sync.counts().failing, 1);
  EXPECT_EQ(store_->sync.counts().last_error, "CRM is down");
  const auto later = store_->sync.claim("a", 60'000, 10, kNow + 2000);
  ASSERT_THAT(later, SizeIs(1));
  EXPECT_EQ(later[0].attempts, 1);
}

// SYNC-26
TEST_P(SyncQueueConformance, ACrmOutageIsReportedAndCountsAsNoAttempt) {
  const TransactionId changing = one_gift();
  one_gift();
  ASSERT_THAT(store_->sync.claim("a", 60'000, 1, kNow), SizeIs(1));
  store_->sync.release_with_error("b", "not mine");
  EXPECT_EQ(store_->sync.counts().failing, 0);
  store_->sync.release_with_error("a", "permission denied for table gifts");
  EXPECT_EQ(store_->sync.counts().waiting, 2);
  EXPECT_EQ(store_->sync.counts().failing, 1);
  EXPECT_EQ(store_->sync.counts().last_error, "permission denied for table gifts");
  const auto claims = store_->sync.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(2)) << "they are free again and due at once";
  EXPECT_EQ(claims[0].attempts + claims[1].attempts, 0);
  const StatusChange meanwhile{{}, "import", changing, Status::opened, kNow, kNow, {}};
  store_->changes.accept(std::span(&meanwhile, 1));
  std::vector<SyncClose> closes;
  for (const SyncClaim& claim : claims) closes.push_back({claim, true, kNow, "", std::nullopt});
  store_->sync.close("a", closes);
  EXPECT_EQ(store_->sync.counts().waiting, 1);
  EXPECT_EQ(store_->sync.counts().failing, 0) << "it went well, and is to be written once more";
}

TEST_P(SyncQueueConformance, ReportsTheMostFrequentError) {
  for (int i = 0; i < 3; ++i) one_gift();
  const auto claims = store_->sync.claim("a", 60'000, 10, kNow);
  ASSERT_THAT(claims, SizeIs(3));
  std::vector<SyncClose> closes;
  for (const SyncClaim& claim : claims) {
    const bool is_first = closes.empty();
    closes.push_back({claim, false, kNow, is_first ? "refused a row" : "failed", std::nullopt});
  }
  store_->sync.close("a", closes);
  EXPECT_EQ(store_->sync.counts().failing, 3);
  EXPECT_EQ(store_->sync.counts().last_error, "failed");
}

TEST_P(SyncQueueConformance, SavesAFoldOnlyOverItsBaseVersion) {
  const TransactionId id = one_gift();
  FoldedState state{id, 1, Status::opened, {}, false};
  state.times[Status::sent] = kNow - 7;
  state.times[Status::opened] = kNow + 3;
  EXPECT_THAT(store_->sync.save_folded(std::span(&state, 1)), ElementsAre(id));
  EXPECT_THAT(store_->sync.save_folded(std::span(&state, 1)), IsEmpty());
  const Gift gift = store_->gifts.find(std::span(&id, 1)).front();
  EXPECT_EQ(gift.transaction.status, Status::opened);
  EXPECT_EQ(gift.transaction.times[Status::sent], kNow - 7);
  EXPECT_EQ(gift.transaction.times[Status::opened], kNow + 3);
  EXPECT_EQ(gift.transaction.version, 2);
}

TEST_P(SyncQueueConformance, KeepsTheFirstDecision) {
  const TransactionId id = one_gift();
  CrmSyncState mirror{
      id, CrmSyncStatus::decided, kNow, {"003A", "001A", "", "", "", "005A", "because", ""}, 0, ""};
  store_->sync.insert_decisions(std::span(&mirror, 1));
  mirror.decision.contact_id = "003B";
  const auto standing = store_->sync.insert_decisions(std::span(&mirror, 1));
  ASSERT_THAT(standing, SizeIs(1));
  EXPECT_EQ(standing[0].decision.contact_id, "003A");
  EXPECT_EQ(standing[0].decision.reason, "because");
}

// SYNC-69
TEST_P(SyncQueueConformance, KeepsTheIdsOfRecordAndTaskUntilTheRecordIsRecreated) {
  const TransactionId id = one_gift();
  CrmSyncState state{id, CrmSyncStatus::decided, kNow, {}, 0, ""};
  state = store_->sync.insert_decisions(std::span(&state, 1)).front();
  EXPECT_EQ(state.crm_id + state.task_crm_id, "");
  state.state = CrmSyncStatus::written;
  state.written_version = 1;
  state.crm_id = "a0G1";
  state.task_crm_id = "00T1";
  const SyncClose close{store_->sync.claim("a", 60'000, 1, kNow).front(), true, kNow, "", state};
  store_->sync.close("a", std::span(&close, 1));
  state = store_->sync.find_states(std::span(&id, 1)).front();
  EXPECT_EQ(state.crm_id, "a0G1");
  EXPECT_EQ(state.task_crm_id, "00T1");
  EXPECT_THAT(store_->backfill.recreate(std::span(&state, 1), kNow), ElementsAre(id));
  state = store_->sync.find_states(std::span(&id, 1)).front();
  EXPECT_EQ(state.crm_id, "") << "of the deleted record";
  EXPECT_EQ(state.task_crm_id, "00T1");
}

// ORG-4
TEST_P(SyncQueueConformance, ForgetsTheIdsOfAnotherCrm) {
  const std::vector<NewGiftRequest> requests(3, request_for(1));
  std::vector<SyncClose> closes;
  std::vector<TransactionId> gifts;
  for (const CreateOutcome& made : store_->gifts.create(requests))
    gifts.push_back(made.recipients.front().id);
  for (const SyncClaim& claim : store_->sync.claim("a", 60'000, 3, kNow)) {
    CrmSyncState state{claim.transaction, CrmSyncStatus::decided, kNow, {}, 0, ""};
    state = store_->sync.insert_decisions(std::span(&state, 1)).front();
    state.state = CrmSyncStatus::written;
    if (claim.transaction != gifts.front()) state.crm_id = "a0G" + std::to_string(claim.transaction.value);
    if (claim.transaction == gifts.back()) state.task_crm_id = "00T1";
    closes.push_back({claim, true, kNow, "", state});
  }
  store_->sync.close("a", closes);
  EXPECT_EQ(store_->sync.forget_crm_ids(), 2);
  EXPECT_EQ(store_->sync.forget_crm_ids(), 0);
  for (const CrmSyncState& state : store_->sync.find_states(gifts)) {
    EXPECT_EQ(state.crm_id + state.task_crm_id, "");
    EXPECT_EQ(state.state, CrmSyncStatus::written);
  }
}

TEST_P(SyncQueueConformance, TwoDaemonsShareTheQueueWithoutOverlap) {
  std::vector<NewGiftRequest> group(50, request_for(4));
  store_->gifts.create(group);
  Store other(database_->address());
  std::vector<SyncClaim> mine;
  std::vector<SyncClaim> theirs;
  const auto drain = [](Store& daemon, const std::string& owner, std::vector<SyncClaim>& claims) {
    for (auto some = daemon.sync.claim(owner, 60'000, 7, kNow); !some.empty();
         some = daemon.sync.claim(owner, 60'000, 7, kNow)) {
      claims.insert(claims.end(), some.begin(), some.end());
    }
  };
  std::thread thread([&] { drain(other, "other", theirs); });
  drain(*store_, "one", mine);
  thread.join();
  std::set<TransactionId> all;
  for (const auto* claims : {&mine, &theirs}) {
    for (const SyncClaim& claim : *claims)
      EXPECT_TRUE(all.insert(claim.transaction).second) << "claimed twice";
  }
  EXPECT_GE(all.size(), 190u) << "rows that were locked for a moment may be left for the next look";
}

TEST_P(SyncQueueConformance, ResetsOnlyRowsScheduledAfterATime) {
  const auto fail_until = [&](UtcMillis due) {
    const TransactionId id = one_gift();
    const auto claims = store_->sync.claim("a", 60'000, 10, kNow);
    const SyncClose failed{claims.at(0), false, due, "no", std::nullopt};
    store_->sync.close("a", std::span(&failed, 1));
    return id;
  };
  const UtcMillis latest = kNow + 600'000;
  fail_until(latest);
  EXPECT_EQ(store_->sync.reset_scheduled_after(latest, kNow), 0);
  const TransactionId failing = fail_until(latest + 1);
  const TransactionId waiting = one_gift();
  store_->sync.close("a", std::vector{SyncClose{store_->sync.claim("a", 60'000, 10, kNow).at(0), true, kNow,
                                                "", std::nullopt}});
  const StatusChange change{{}, "import", waiting, Status::opened, kNow, kNow, {}};
  store_->changes.accept(std::span(&change, 1), 21'600'000);
  EXPECT_THAT(store_->sync.claim("a", 60'000, 10, kNow), IsEmpty());
  EXPECT_EQ(store_->sync.reset_scheduled_after(latest, kNow), 2);
  std::set<TransactionId> due;
  for (const SyncClaim& claim : store_->sync.claim("a", 60'000, 10, kNow)) due.insert(claim.transaction);
  EXPECT_EQ(due, (std::set{failing, waiting}));
}

// LIFE-20
TEST_P(SyncQueueConformance, CapsLeasesOfAnyOwner) {
  one_gift();
  ASSERT_THAT(store_->sync.claim("dead", 21'600'000, 10, kNow), SizeIs(1));
  EXPECT_EQ(leases_beyond_a_minute("crm_outbox"), "1");
  store_->sync.cap_leases(60'000);
  EXPECT_EQ(leases_beyond_a_minute("crm_outbox"), "0");
  EXPECT_THAT(store_->sync.claim("b", 60'000, 10, kNow), IsEmpty()) << "it may be at work still";
  store_->sync.cap_leases(-1);
  EXPECT_THAT(store_->sync.claim("b", 60'000, 10, kNow), SizeIs(1));
}

}  // namespace
}  // namespace giftsync::store
