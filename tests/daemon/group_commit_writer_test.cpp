// The group-commit writer with many threads at once: each caller gets its own durable outcome.
#include "daemon/group_commit_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <set>
#include <thread>

#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

using namespace schema;

class GroupCommitWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("giftsync_writer_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const schema::sql::Dsn address{schema::sql::Dialect::sqlite, (folder_ / "store.db").string()};
    schema::store::migrate_store(address);
    store_ = std::make_unique<schema::store::Store>(address);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static schema::store::NewGiftRequest new_request(const std::string& email, const std::string& key = "") {
    schema::store::NewGiftRequest request;
    request.request.account = {1};
    request.request.item_name = "Coffee";
    request.request.created_at = {1'800'000'000'000};
    request.recipients.push_back({email, "", "", "Hi"});
    if (!key.empty()) request.idempotency = schema::store::IdempotencyKey{key, "hash"};
    return request;
  }

  std::filesystem::path folder_;
  std::unique_ptr<schema::store::Store> store_;
};

// ARCH-22
TEST_F(GroupCommitWriterTest, EachOfManyCallersGetsItsOwnOutcome) {
  GroupCommitWriter writer(store_->gifts);
  constexpr int kThreads = 16;
  constexpr int kEach = 25;
  std::vector<std::vector<schema::store::CreateOutcome>> outcomes(kThreads);
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
  std::set<schema::GiftRequestId> requests;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kEach; ++i) {
      const schema::store::CreateOutcome& outcome = outcomes[t][i];
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
    GroupCommitWriter writer(store_->gifts);
    ASSERT_TRUE(writer.submit(new_request("a@example.com"), [&](auto written) {
      stored = store_->gifts.find_recipients(std::move(written).value().request).size();
    }));
  }  // what waits is written before the writer ends
  EXPECT_EQ(stored, 1u);
}

// ARCH-23
TEST_F(GroupCommitWriterTest, OneKeyFromManyCallersIsOneRequest) {
  GroupCommitWriter writer(store_->gifts);
  std::vector<schema::GiftRequestId> seen(12);
  std::vector<std::thread> threads;
  for (schema::GiftRequestId& id : seen)
    threads.emplace_back([&] { id = writer.write(new_request("a@example.com", "key"))->request; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<schema::GiftRequestId>(seen.begin(), seen.end()).size(), 1u);
}

}  // namespace
}  // namespace giftsync::daemon
