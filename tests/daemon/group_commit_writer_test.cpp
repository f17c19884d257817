// The group-commit writer with many threads at once: each caller gets its own durable outcome.
#include "daemon/group_commit_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <set>
#include <thread>

#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

class GroupCommitWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("giftsync_writer_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const sql::Dsn address{sql::Dialect::sqlite, (folder_ / "store.db").string()};
    store::migrate_store(address);
    store_ = std::make_unique<store::Store>(address);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static store::NewGiftRequest new_request(const std::string& email, const std::string& key = "") {
    store::NewGiftRequest request;
    request.request.account = {1};
    request.request.item_name = "Coffee";
    request.request.created_at = {1'800'000'000'000};
    request.recipients.push_back({email, "", "", "Hi"});
    if (!key.empty()) request.idempotency = store::IdempotencyKey{key, "hash"};
    return request;
  }

  std::filesystem::path folder_;
  std::unique_ptr<store::Store> store_;
};

// ARCH-22
TEST_F(GroupCommitWriterTest, EachOfManyCallersGetsItsOwnOutcome) {
  GroupCommitWriter writer(store_->urgent_writes);
  constexpr int kThreads = 16;
  constexpr int kEach = 25;
  std::vector<std::vector<store::CreateOutcome>> outcomes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        outcomes[t].push_back(
            *writer.write(new_request("t" + std::to_string(t) + "i" + std::to_string(i) + "@example.com")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<GiftRequestId> requests;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kEach; ++i) {
      const store::CreateOutcome& outcome = outcomes[t][i];
      EXPECT_TRUE(requests.insert(outcome.request).second);
      ASSERT_EQ(outcome.recipients.size(), 1u);
      const auto stored = store_->gifts.find_recipients(outcome.request);
      ASSERT_EQ(stored.size(), 1u);
      EXPECT_EQ(stored.front().email, "t" + std::to_string(t) + "i" + std::to_string(i) + "@example.com");
    }
  }
}

// ARCH-22
TEST_F(GroupCommitWriterTest, ASubmittedRequestIsDurableWhenItsCallbackRuns) {
  std::optional<std::size_t> stored;
  {
    GroupCommitWriter writer(store_->urgent_writes);
    ASSERT_TRUE(writer.submit(new_request("a@example.com"), [&](auto written) {
      stored = store_->gifts.find_recipients(std::move(written).value().request).size();
    }));
  }  // what waits is written before the writer ends
  EXPECT_EQ(stored, 1u);
}

// OPS-40
TEST_F(GroupCommitWriterTest, ReportsTheMembersOfEachCommit) {
  std::atomic<std::size_t> commits = 0;
  std::atomic<std::size_t> members = 0;
  constexpr std::size_t kRequests = 20;
  {
    GroupCommitWriter writer(store_->urgent_writes,
                             {.on_commit =
                                  [&](std::size_t count, std::chrono::nanoseconds took) {
                                    ++commits;
                                    members += count;
                                    EXPECT_GT(took.count(), 0);
                                  },
                              .on_refusal = [] { ADD_FAILURE() << "nothing is refused"; }});
    for (std::size_t i = 0; i < kRequests; ++i)
      ASSERT_TRUE(writer.submit(new_request(std::to_string(i) + "@example.com"), [](auto) {}));
  }
  EXPECT_EQ(members, kRequests);
  EXPECT_GE(commits, 1u);
  EXPECT_LE(commits, kRequests);
}

// ARCH-23
TEST_F(GroupCommitWriterTest, OneKeyFromManyCallersIsOneRequest) {
  GroupCommitWriter writer(store_->urgent_writes);
  std::vector<GiftRequestId> seen(12);
  std::vector<std::thread> threads;
  for (GiftRequestId& id : seen)
    threads.emplace_back([&] { id = writer.write(new_request("a@example.com", "key"))->request; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<GiftRequestId>(seen.begin(), seen.end()).size(), 1u);
}

store::InboundBatch report(TransactionId gift, std::int64_t at) {
  store::InboundBatch message;
  message.source = "vendor";
  message.message_id = std::to_string(gift.value) + "/" + std::to_string(at);
  message.now = {at};
  message.items.emplace_back().change =
      store::StatusChange{{}, "vendor", gift, Status::opened, {at}, {at}, {}};
  return message;
}

// ARCH-22
TEST_F(GroupCommitWriterTest, WritesAllKinds) {
  GroupCommitWriter writer(store_->urgent_writes);
  const TransactionId gift = writer.write(new_request("a@example.com"))->recipients.front().id;
  EXPECT_EQ(writer.write(report(gift, 1'800'000'000'005))->accepted, 1u);
  store::Decision decision;
  decision.change = {{}, "page", gift, Status::redeemed, {1'800'000'000'009}, {1'800'000'000'009}, {}};
  decision.condition = [](UtcMillis, std::span<const store::ChangeSpan> so_far) {
    return so_far.size() == 1;
  };
  EXPECT_EQ(writer.write(decision), store::ConditionalOutcome::accepted);
  EXPECT_EQ(writer.write(decision), store::ConditionalOutcome::refused);
}

// ARCH-22
TEST_F(GroupCommitWriterTest, OneKindThatWaitsInAFullQueueLeavesTheOthersTheirPlaces) {
  std::atomic<int> written = 0;
  int taken = 0;
  {
    GroupCommitWriter writer(store_->urgent_writes);
    const TransactionId gift = writer.write(new_request("a@example.com"))->recipients.front().id;
    // The writer's thread waits in this decision, so nothing leaves the queues.
    std::promise<void> go_on;
    std::promise<void> is_waiting;
    store::Decision slow;
    slow.change = {{}, "page", gift, Status::redeemed, {1'800'000'000'009}, {1'800'000'000'009}, {}};
    slow.condition = [&](UtcMillis, std::span<const store::ChangeSpan>) {
      is_waiting.set_value();
      go_on.get_future().wait();
      return true;
    };
    ASSERT_TRUE(writer.submit(slow, [](auto) {}));
    is_waiting.get_future().wait();
    while (taken < 10'000 && writer.submit(report(gift, 1'800'000'000'100 + taken), [&](auto) { ++written; }))
      ++taken;
    EXPECT_EQ(taken, 2'000) << "the queue of messages is bounded";
    EXPECT_TRUE(writer.submit(new_request("b@example.com"), [&](auto) { ++written; }));
    go_on.set_value();
  }  // what waits is written before the writer ends
  EXPECT_EQ(written, taken + 1);
}

TEST(WriteQueueTest, SharesAGroupFairly) {
  const auto shares = [](std::size_t a, std::size_t b, std::size_t c) {
    return fair_shares<3>({a, b, c}, 500);
  };
  using Shares = std::array<std::size_t, 3>;
  EXPECT_EQ(shares(0, 0, 0), (Shares{0, 0, 0}));
  EXPECT_EQ(shares(2000, 0, 0), (Shares{500, 0, 0}));
  EXPECT_EQ(shares(2000, 2000, 1), (Shares{249, 250, 1}));
  EXPECT_EQ(shares(2000, 2000, 2000), (Shares{166, 167, 167}));
  EXPECT_EQ(shares(10, 2000, 20), (Shares{10, 470, 20}));
}

TEST(WriteQueueTest, ALargeMessageDoesNotShareItsGroupWithManyOthers) {
  WriteQueue<store::InboundBatch, store::IngestResult> queue;
  const auto message_of = [](std::size_t changes) {
    store::InboundBatch message;
    message.items.resize(changes);
    return message;
  };
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(queue.push(message_of(1'000), {}));
  EXPECT_EQ(queue.take(500).members.size(), 5u);
  EXPECT_EQ(queue.size(), 5u);
  while (queue.push(message_of(1'000), {})) {
  }
  EXPECT_EQ(queue.size(), 100u) << "they have 100,000 rows";
  EXPECT_FALSE(queue.push(message_of(1), {}));
}

}  // namespace
}  // namespace giftsync::daemon
