// The two sync workers against a real store: both run under backlog, log each line once, and release all
// claims when the CRM fails.
#include "daemon/sync_workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "platform/clock.h"
#include "schema/store/store.h"
#include "tests/support/captured_log.h"
#include "tests/support/in_memory_crm.h"
#include "tests/support/raw_http_client.h"
#include "tests/support/temporary_database.h"
#include "tests/support/temporary_store.h"

namespace giftsync::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tests::eventually;

constexpr std::size_t kBatch = crm::CrmPace().rows_per_write;

/// Used by one thread at a time, except for `while_writing`.
class SharedCrm : public tests::InMemoryCrm {
 public:
  crm::CrmPace wanted_pace;
  std::function<void()> while_writing = [] {
  };  ///< called by each writer, possibly by both at once; may throw

  std::vector<crm::Candidates> find_candidates(crm::PersonObject object,
                                               std::span<const crm::RecipientMatchKeys> recipients) override {
    const std::lock_guard lock(mutex_);
    return tests::InMemoryCrm::find_candidates(object, recipients);
  }
  std::vector<crm::RowResult> upsert(std::span<const crm::GiftUpsert> rows) override {
    while_writing();
    const std::lock_guard lock(mutex_);
    return tests::InMemoryCrm::upsert(rows);
  }
  crm::CrmPace pace() const override { return wanted_pace; }
  std::size_t written() {
    const std::lock_guard lock(mutex_);
    return records.size();
  }

 private:
  std::mutex mutex_;
};

/// A barrier for the first two threads that arrive.
class Rendezvous {
 public:
  void arrive() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    both_arrived_ = changed_.wait_for(lock, tests::RawHttpClient::kTimeout, [this] {
      return arrived_ >= 2;
    }) && both_arrived_;
  }
  bool both_arrived() {
    const std::lock_guard lock(mutex_);
    return arrived_ >= 2 && both_arrived_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;           // guarded by mutex_
  bool both_arrived_ = true;  // guarded by mutex_
};

class SyncWorkersTest : public testing::Test {
 protected:
  SyncWorkersTest() { crm_.users_by_email["sam@example.com"] = {"005S", "Sam", "sam@example.com", true}; }
  static sync::SyncRules rules() {
    sync::SyncRules rules;
    rules.link_of = [](const auto&) { return "https://gifts.test/g"; };
    return rules;
  }
  bool everything_written(std::size_t gifts) {
    return tests::eventually([&] { return crm_.written() == gifts && store_->sync.counts().waiting == 0; });
  }
  static std::vector<std::string> warnings_and_errors_in(tests::CapturedLog& log) {
    std::vector<std::string> lines = log.take_lines();
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("info"); });
    return lines;
  }
  static SyncWorkers::FaultDescriber own_message() {
    return [](const DependencyError& fault) { return fault.what(); };
  }

  tests::TemporaryStore store_;
  SharedCrm crm_;
};

// SYNC-24
TEST_F(SyncWorkersTest, BothWorkersWriteConcurrentlyUnderBacklog) {
  Rendezvous rendezvous;
  crm_.while_writing = [&] {
    if (crm_.written() > 0)
      rendezvous.arrive();  // after the first batch the sync worker knows that there is more
  };
  store_.create_gifts(3 * kBatch);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(3 * kBatch));
  workers.stop();
  EXPECT_TRUE(rendezvous.both_arrived());
}

// ARCH-28
TEST_F(SyncWorkersTest, TheSecondWorkerIdlesWhileCallersWait) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  crm_.while_writing = [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };
  store_.create_gifts(3 * kBatch);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return true; });
  EXPECT_TRUE(everything_written(3 * kBatch));
  workers.stop();
  EXPECT_THAT(threads, SizeIs(1));
}

TEST_F(SyncWorkersTest, ACrmThatTakesOneWriterHasNoSecondWorker) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  crm_.wanted_pace.writers = 1;
  crm_.while_writing = [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  };
  store_.create_gifts(3 * kBatch);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(3 * kBatch));
  EXPECT_LE(workers.millis_since_heartbeat(), kMinuteMillis);
  workers.stop();
  EXPECT_THAT(threads, SizeIs(1));
}

// SYNC-24
TEST_F(SyncWorkersTest, ABatchHasTheRowsThatTheCrmTakes) {
  std::vector<std::size_t> written;
  crm_.wanted_pace = {.rows_per_write = 3, .writers = 1};
  crm_.while_writing = [&] { written.push_back(crm_.written()); };
  store_.create_gifts(7);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(7));
  workers.stop();
  EXPECT_THAT(written, ElementsAre(0, 3, 6));
}

TEST_F(SyncWorkersTest, WarningsOfBothWorkersAreLoggedOnce) {
  tests::CapturedLog log;
  crm_.users_by_email.clear();
  store_.create_gifts(4 * kBatch);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(4 * kBatch));
  workers.stop();
  EXPECT_THAT(warnings_and_errors_in(log),
              ElementsAre(HasSubstr("warning no CRM user has the address sam@example.com")));
}

// ARCH-27
TEST_F(SyncWorkersTest, AFaultIsLoggedOnceWithItsDescriptionAndClaimsAreReleased) {
  tests::CapturedLog log;
  Rendezvous rendezvous;
  std::atomic<bool> is_down = true;
  crm_.while_writing = [&] {
    if (!is_down || crm_.written() == 0) return;  // the second worker joins after the first batch
    rendezvous.arrive();
    throw DependencyError(true, "the CRM is down");
  };
  store_.create_gifts(6 * kBatch);
  SyncWorkers workers(*store_, crm_, rules(), [](const DependencyError& fault) {
    return std::string(fault.what()) + "; the remedy";
  });
  workers.start("one", [] { return false; });
  ASSERT_TRUE(
      tests::eventually([&] { return store_->sync.counts().failing > 0 && rendezvous.both_arrived(); }));
  EXPECT_EQ(store_->sync.counts().last_error, "the CRM is down; the remedy");
  is_down = false;
  EXPECT_TRUE(everything_written(6 * kBatch)) << "before the claims would expire";
  workers.stop();
  EXPECT_THAT(warnings_and_errors_in(log), ElementsAre(HasSubstr("error sync: the CRM is down; the remedy")));
}

// SYNC-70
TEST_F(SyncWorkersTest, ACrmThatIsNotToBeCalledIsCalledAgainAtItsTime) {
  tests::CapturedLog log;
  std::atomic<std::int64_t> until = 0;
  std::atomic<std::int64_t> second_call = 0;
  crm_.while_writing = [&] {
    const std::int64_t now = system_now().value;
    if (until != 0) {
      if (second_call == 0) second_call = now;
      return;
    }
    until = now + 1500;
    throw DependencyPause({until}, "the quota is used up");
  };
  store_.create_gifts(2);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return false; });
  ASSERT_TRUE(tests::eventually([&] { return store_->sync.counts().failing > 0; }));
  EXPECT_EQ(store_->sync.counts().last_error, "the quota is used up");
  EXPECT_TRUE(everything_written(2));
  workers.stop();
  EXPECT_GE(second_call, until);
  EXPECT_THAT(warnings_and_errors_in(log), ElementsAre(HasSubstr("the quota is used up")));
}

// SYNC-70
TEST_F(SyncWorkersTest, AMarkInTheStoreEndsThePauseOfACrm) {
  tests::CapturedLog log;
  std::atomic<bool> is_paused = true;
  std::atomic<int> refused = 0;
  crm_.while_writing = [&] {
    if (!is_paused) return;
    ++refused;
    throw DependencyPause(system_now() + kDayMillis, "the quota is used up");
  };
  store_.create_gifts(2);
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.start("one", [] { return false; });
  ASSERT_TRUE(tests::eventually([&] { return store_->sync.counts().failing > 0; }));
  EXPECT_EQ(refused, 1);
  store::wake_crm_workers(*store_);
  ASSERT_TRUE(tests::eventually([&] { return refused == 2; })) << "the CRM was asked again";
  is_paused = false;
  store::wake_crm_workers(*store_);
  EXPECT_TRUE(everything_written(2));
  workers.stop();
  EXPECT_THAT(warnings_and_errors_in(log), ElementsAre(HasSubstr("the quota is used up")));
}

TEST_F(SyncWorkersTest, AFaultIsDescribedOnceWhileItLasts) {
  tests::CapturedLog log;
  std::atomic<int> tries = 0;
  std::atomic<int> faults_left = 2;
  std::atomic<int> descriptions = 0;
  crm_.while_writing = [&] {
    ++tries;
    if (faults_left > 0 && faults_left-- > 0) throw DependencyError(false, "no right to write");
  };
  store_.create_gifts(1);
  SyncWorkers workers(*store_, crm_, rules(), [&](const DependencyError& fault) {
    ++descriptions;
    return std::string(fault.what()) + "; the remedy";
  });
  workers.start("one", [] { return false; });
  ASSERT_TRUE(tests::eventually([&] { return tries >= 2; }));
  EXPECT_EQ(store_->sync.counts().last_error, "no right to write; the remedy");
  EXPECT_TRUE(everything_written(1));
  EXPECT_EQ(descriptions, 1);
  faults_left = 1;
  store_.create_gifts(1);
  workers.wake();
  EXPECT_TRUE(everything_written(2));
  EXPECT_EQ(descriptions, 2) << "after a success the fault may be a new one";
  workers.stop();
  EXPECT_THAT(warnings_and_errors_in(log), ElementsAre(HasSubstr("no right to write; the remedy"),
                                                       HasSubstr("no right to write; the remedy")));
}

TEST_F(SyncWorkersTest, ClaimsAreReleasedAfterAStoreFailure) {
  tests::CapturedLog log;
  Rendezvous rendezvous;
  const auto sql = [&](const std::string& statement) { tests::run_sql(store_.address(), statement); };
  std::once_flag once;
  crm_.while_writing = [&] {
    if (crm_.written() == 0) return;
    rendezvous.arrive();  // both have claims that they can neither finish nor release
    std::call_once(once, [&] { sql("ALTER TABLE crm_outbox RENAME TO crm_outbox_away"); });
  };
  std::atomic<int> faults = 0;
  store_.create_gifts(6 * kBatch);
  SyncWorkers workers(*store_, crm_, rules(), [&](const DependencyError& fault) {
    ++faults;
    return std::string(fault.what());
  });
  workers.start("one", [] { return false; });
  ASSERT_TRUE(tests::eventually([&] { return rendezvous.both_arrived() && faults > 0; }));
  sql("ALTER TABLE crm_outbox_away RENAME TO crm_outbox");
  EXPECT_TRUE(everything_written(6 * kBatch)) << "sooner than the claims would run out";
  workers.stop();
  EXPECT_THAT(warnings_and_errors_in(log), ElementsAre(HasSubstr("error sync: ")));
}

TEST_F(SyncWorkersTest, ClaimsOfADeadDaemonAreReleasedAtStart) {
  store_.create_gifts(2 * kBatch);
  constexpr std::int64_t kLongLease = kDayMillis;
  ASSERT_THAT(store_->sync.claim("one", kLongLease, kBatch, system_now()), SizeIs(kBatch));
  ASSERT_THAT(store_->sync.claim("second worker of one", kLongLease, kBatch, system_now()), SizeIs(kBatch));
  SyncWorkers workers(*store_, crm_, rules(), own_message());
  workers.release_leases({"one"});
  workers.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(2 * kBatch));
}

}  // namespace
}  // namespace giftsync::daemon
