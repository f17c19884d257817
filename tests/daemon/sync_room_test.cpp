// The sync loop and its second hand against a real store: both work at once when there is much to do, say
// what they have to say once, and leave nothing behind when the CRM fails one of them.
#include "daemon/sync_room.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "daemon/clock.h"
#include "tests/daemon/captured_log.h"
#include "tests/daemon/http_wire.h"
#include "tests/daemon/temporary_store.h"
#include "tests/schema/temporary_database.h"
#include "tests/sync/memory_crm.h"

namespace giftsync::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using tests::eventually;

constexpr std::size_t kBatch = schema::kCrmBatch;

/// Used by one thread after the other, but for what it is told to do while a batch is written.
class SharedCrm : public schema::MemoryCrm {
 public:
  std::function<void()> while_writing = [] {};  ///< by each writer, both at once; may throw

  std::vector<schema::Candidates> find_candidates(
      schema::PersonObject object, std::span<const schema::RecipientKeys> recipients) override {
    const std::lock_guard lock(mutex_);
    return MemoryCrm::find_candidates(object, recipients);
  }
  std::vector<schema::RowResult> upsert_gift_records(std::span<const schema::GiftUpsert> rows) override {
    while_writing();
    const std::lock_guard lock(mutex_);
    return MemoryCrm::upsert_gift_records(rows);
  }
  std::size_t written() {
    const std::lock_guard lock(mutex_);
    return records.size();
  }

 private:
  std::mutex mutex_;
};

/// Where the first two who come wait for each other.
class Meeting {
 public:
  void come() {
    std::unique_lock lock(mutex_);
    ++came_;
    changed_.notify_all();
    met_ = changed_.wait_for(lock, tests::Wire::kPatience, [this] { return came_ >= 2; }) && met_;
  }
  bool met() {
    const std::lock_guard lock(mutex_);
    return came_ >= 2 && met_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int came_ = 0;     // guarded by mutex_
  bool met_ = true;  // guarded by mutex_
};

class SyncRoomTest : public testing::Test {
 protected:
  SyncRoomTest() { crm_.users_by_email["sam@example.com"] = {"005S", "Sam", "sam@example.com", true}; }
  static sync::SyncRules rules() {
    sync::SyncRules rules;
    rules.link_of = [](const auto&) { return "https://gifts.test/g"; };
    return rules;
  }
  bool everything_written(std::size_t gifts) {
    return eventually([&] { return crm_.written() == gifts && store_->sync.counts().waiting == 0; });
  }
  static std::vector<std::string> problems_in(CapturedLog& log) {
    std::vector<std::string> lines = log.take();
    std::erase_if(lines, [](const std::string& line) { return line.starts_with("info"); });
    return lines;
  }
  static SyncRoom::FaultWords own_words() {
    return [](const schema::BrokenWorld& fault) { return fault.what(); };
  }

  TemporaryStore store_;
  SharedCrm crm_;
};

TEST_F(SyncRoomTest, TwoHandsWriteAtOnceWhenThereIsMuchToDo) {
  Meeting meeting;
  crm_.while_writing = [&] {
    if (crm_.written() > 0) meeting.come();  // after the first batch the sync loop knows that there is more
  };
  store_.gifts(3 * kBatch);
  SyncRoom room(*store_, crm_, rules(), own_words());
  room.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(3 * kBatch));
  room.stop();
  EXPECT_TRUE(meeting.met());
}

TEST_F(SyncRoomTest, WhileSomebodyWaitsForTheMachineOneHandRests) {
  std::mutex mutex;
  std::set<std::thread::id> hands;
  crm_.while_writing = [&] {
    const std::lock_guard lock(mutex);
    hands.insert(std::this_thread::get_id());
  };
  store_.gifts(3 * kBatch);
  SyncRoom room(*store_, crm_, rules(), own_words());
  room.start("one", [] { return true; });
  EXPECT_TRUE(everything_written(3 * kBatch));
  room.stop();
  EXPECT_THAT(hands, SizeIs(1));
}

TEST_F(SyncRoomTest, WhatBothHandsNoticeIsToldOnce) {
  CapturedLog log;
  crm_.users_by_email.clear();
  store_.gifts(4 * kBatch);
  SyncRoom room(*store_, crm_, rules(), own_words());
  room.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(4 * kBatch));
  room.stop();
  EXPECT_THAT(problems_in(log),
              ElementsAre(HasSubstr("warning no CRM user has the address sam@example.com")));
}

TEST_F(SyncRoomTest, AFaultIsToldOnceInBetterWordsAndNothingStaysClaimed) {
  CapturedLog log;
  Meeting meeting;
  std::atomic<bool> is_down = true;
  crm_.while_writing = [&] {
    if (!is_down || crm_.written() == 0) return;  // the second hand joins in after the first batch
    meeting.come();
    throw schema::BrokenWorld(true, "the CRM is down");
  };
  store_.gifts(6 * kBatch);
  SyncRoom room(*store_, crm_, rules(),
                [](const schema::BrokenWorld& fault) { return std::string(fault.what()) + "; the remedy"; });
  room.start("one", [] { return false; });
  ASSERT_TRUE(eventually([&] { return store_->sync.counts().failing > 0 && meeting.met(); }));
  EXPECT_EQ(store_->sync.counts().last_error, "the CRM is down; the remedy");
  is_down = false;
  EXPECT_TRUE(everything_written(6 * kBatch)) << "sooner than the claims would run out";
  room.stop();
  EXPECT_THAT(problems_in(log), ElementsAre(HasSubstr("error sync: the CRM is down; the remedy")));
}

TEST_F(SyncRoomTest, BetterWordsAreAskedForOnceWhileAFaultLasts) {
  CapturedLog log;
  std::atomic<int> tries = 0;
  std::atomic<int> faults_left = 2;
  std::atomic<int> asked = 0;
  crm_.while_writing = [&] {
    ++tries;
    if (faults_left > 0 && faults_left-- > 0) throw schema::BrokenWorld(false, "no right to write");
  };
  store_.gifts(1);
  SyncRoom room(*store_, crm_, rules(), [&](const schema::BrokenWorld& fault) {
    ++asked;
    return std::string(fault.what()) + "; the remedy";
  });
  room.start("one", [] { return false; });
  ASSERT_TRUE(eventually([&] { return tries >= 2; }));
  EXPECT_EQ(store_->sync.counts().last_error, "no right to write; the remedy");
  EXPECT_TRUE(everything_written(1));
  EXPECT_EQ(asked, 1);
  faults_left = 1;
  store_.gifts(1);
  room.wake();
  EXPECT_TRUE(everything_written(2));
  EXPECT_EQ(asked, 2) << "it may be another one this time";
  room.stop();
  EXPECT_THAT(problems_in(log), ElementsAre(HasSubstr("no right to write; the remedy"),
                                            HasSubstr("no right to write; the remedy")));
}

TEST_F(SyncRoomTest, WhatEitherHandHeldWhenTheStoreFailedIsFreeOnceItIsBack) {
  CapturedLog log;
  Meeting meeting;
  const auto sql = [&](const std::string& statement) { schema::run_sql(store_.address(), statement); };
  std::once_flag once;
  crm_.while_writing = [&] {
    if (crm_.written() == 0) return;
    meeting.come();  // both hold claims, which neither can close nor free
    std::call_once(once, [&] { sql("ALTER TABLE sync_mark RENAME TO sync_mark_away"); });
  };
  std::atomic<int> faults = 0;
  store_.gifts(6 * kBatch);
  SyncRoom room(*store_, crm_, rules(), [&](const schema::BrokenWorld& fault) {
    ++faults;
    return std::string(fault.what());
  });
  room.start("one", [] { return false; });
  ASSERT_TRUE(eventually([&] { return meeting.met() && faults > 0; }));
  sql("ALTER TABLE sync_mark_away RENAME TO sync_mark");
  EXPECT_TRUE(everything_written(6 * kBatch)) << "sooner than the claims would run out";
  room.stop();
  EXPECT_THAT(problems_in(log), ElementsAre(HasSubstr("error sync: ")));
}

TEST_F(SyncRoomTest, TheClaimsOfADaemonThatDiedAreFreedAtStart) {
  store_.gifts(2 * kBatch);
  constexpr std::int64_t kLongLease = schema::kDayMillis;
  ASSERT_THAT(store_->sync.claim("one", kLongLease, kBatch, system_now()), SizeIs(kBatch));
  ASSERT_THAT(store_->sync.claim("second hand of one", kLongLease, kBatch, system_now()), SizeIs(kBatch));
  SyncRoom room(*store_, crm_, rules(), own_words());
  room.start("one", [] { return false; });
  EXPECT_TRUE(everything_written(2 * kBatch));
}

}  // namespace
}  // namespace giftsync::daemon
