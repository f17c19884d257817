// Ids come in blocks, without large gaps after a reload or a clean stop. An own Database of the same address
// stands for another process.
#include "schema/store/statements/id_block.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>
#include <vector>

#include "schema/sql/database.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

// covers: ARCH-16
class IdBlockTest : public tests::StoreFixture {
 protected:
  using Process = std::shared_ptr<sql::Database>;
  Process process() { return std::make_shared<sql::Database>(address()); }
  static IdBlock ids_of(const Process& process) { return {process, "gift_request"}; }
  std::int64_t stored_next() {
    return std::stoll(scalar("SELECT cast(next_id AS TEXT) FROM id_block WHERE name = 'gift_request'"));
  }
};
INSTANTIATE_TEST_SUITE_P(BackEnds, IdBlockTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

TEST_P(IdBlockTest, AReloadGoesOnWithTheBlock) {
  const TransactionId first = one_gift();
  auto next_application = std::make_unique<Store>(address());
  store_.swap(next_application);
  EXPECT_EQ(one_gift().value, first.value + 1) << "while the former application still runs";
  next_application.reset();
  EXPECT_EQ(one_gift().value, first.value + 2) << "after its end";
}

TEST_P(IdBlockTest, ACleanStopGivesTheRestBack) {
  const TransactionId first = one_gift();
  store_ = nullptr;
  store_ = std::make_unique<Store>(address());
  EXPECT_EQ(one_gift().value, first.value + 1);
  EXPECT_EQ(scalar("SELECT cast(max(id) - min(id) AS TEXT) FROM gift_request"), "1");
}

TEST_P(IdBlockTest, AKillLeavesAGapOfOneBlock) {
  const Process killed = process();
  IdBlock held = ids_of(killed);  // does not end before the next process begins
  const std::int64_t first = held.allocate(1);
  EXPECT_EQ(ids_of(process()).allocate(1), first + 1000);
}

TEST_P(IdBlockTest, AnAllocatedIdIsNotGivenBackThoughNothingHasIt) {
  const std::int64_t first = ids_of(process()).allocate(3);
  EXPECT_EQ(ids_of(process()).allocate(1), first + 3);
}

TEST_P(IdBlockTest, TheRestStaysUnusedWhenAnotherProcessHasAllocatedSince) {
  const Process other = process();
  IdBlock others = ids_of(other);
  std::int64_t first = 0;
  std::int64_t other_first = 0;
  {
    const Process own = process();
    IdBlock owns = ids_of(own);
    first = owns.allocate(1);
    other_first = others.allocate(1);
    EXPECT_EQ(other_first, first + 1000);
  }
  EXPECT_EQ(stored_next(), first + 2000);
  EXPECT_EQ(others.allocate(1), other_first + 1);
}

TEST_P(IdBlockTest, ARequestThatIsLargerThanTheRestLeavesNoGap) {
  const Process own = process();
  IdBlock ids = ids_of(own);
  const std::int64_t first = ids.allocate(600);
  EXPECT_EQ(ids.allocate(600), first + 600);
  EXPECT_EQ(ids.allocate(5000), first + 1200);
  EXPECT_EQ(ids.allocate(1), first + 6200);
}

TEST_P(IdBlockTest, AStopWithoutAStoreGivesNothingBack) {
  const Process own = process();
  {
    IdBlock ids = ids_of(own);
    ids.allocate(1);
    own->refuse_use("it was restored");
  }
  EXPECT_EQ(stored_next() % 1000, 1);
}

TEST_P(IdBlockTest, ARaisedMinimumIsNotTakenBack) {
  std::int64_t lowest = 0;
  {
    const Process own = process();
    IdBlock ids = ids_of(own);
    lowest = ids.allocate(1) + 50'000;
    ids.raise_minimum(lowest);
  }
  EXPECT_GE(ids_of(process()).allocate(1), lowest);
}

TEST_P(IdBlockTest, ARaisedMinimumHoldsAlsoForWhatAnotherProcessGivesBack) {
  const Process own = process();
  IdBlock ids = ids_of(own);
  std::int64_t first = 0;
  {
    const Process other = process();
    IdBlock others = ids_of(other);
    first = others.allocate(1);
    ids.raise_minimum(first + 500);
  }
  EXPECT_EQ(stored_next(), first + 1);
  EXPECT_EQ(ids.allocate(1), first + 500);
  EXPECT_EQ(stored_next(), first + 1500);
}

TEST_P(IdBlockTest, NoIdIsAllocatedTwiceByProcessesThatComeAndGo) {
  std::mt19937 random(7);
  std::set<std::int64_t> seen;
  std::vector<Process> running{process(), process(), process()};
  std::vector<std::unique_ptr<IdBlock>> ids(running.size());
  for (int step = 0; step < 120; ++step) {
    const std::size_t i = random() % running.size();
    if (ids[i] && random() % 3 == 0) {
      ids[i] = nullptr;  // a clean stop
    } else {
      if (!ids[i]) ids[i] = std::make_unique<IdBlock>(running[i], "gift_request");
      const auto count = static_cast<std::int64_t>(random() % 700 + 1);
      const std::int64_t first = ids[i]->allocate(count);
      for (std::int64_t id = first; id < first + count; ++id) ASSERT_TRUE(seen.insert(id).second) << id;
    }
  }
}

TEST_P(IdBlockTest, ThreadsOfOneProcessShareABlock) {
  const Process own = process();
  IdBlock first = ids_of(own);
  IdBlock second = ids_of(own);
  std::vector<std::vector<std::int64_t>> got(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] {
      IdBlock& ids = i % 2 == 0 ? first : second;
      for (int n = 0; n < 500; ++n) got[i].push_back(ids.allocate(1));
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::int64_t> all;
  for (const auto& some : got) all.insert(some.begin(), some.end());
  EXPECT_EQ(all.size(), 2000u);
  EXPECT_EQ(*all.rbegin() - *all.begin(), 1999);
}

}  // namespace
}  // namespace giftsync::store
