// The group-commit writer with many threads at once: each caller gets its own outcome, durable, whatever the
// others ask.
#include "daemon/gift_writer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <thread>

#include "schema/store/store.h"

namespace giftsync::daemon {
namespace {

using namespace schema;

class GiftWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("giftsync_writer_" + std::to_string(::getpid()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    const DatabaseAddress address{Dialect::sqlite, (folder_ / "store.db").string()};
    migrate_store(address);
    store_ = std::make_unique<Store>(address);
  }
  void TearDown() override {
    store_.reset();
    std::filesystem::remove_all(folder_);
  }

  static NewGiftRequest asked(const std::string& email, const std::string& key = "") {
    NewGiftRequest request;
    request.request.account = {1};
    request.request.item_name = "Coffee";
    request.request.created_at = {1'800'000'000'000};
    request.recipients.push_back({email, "", "", "Hi"});
    if (!key.empty()) request.idempotency = IdempotencyKey{key, "hash"};
    return request;
  }

  std::filesystem::path folder_;
  std::unique_ptr<Store> store_;
};

TEST_F(GiftWriterTest, EachOfManyCallersGetsItsOwnOutcome) {
  GiftWriter writer(store_->gifts);
  constexpr int kThreads = 16;
  constexpr int kEach = 25;
  std::vector<std::vector<CreateOutcome>> outcomes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        outcomes[t].push_back(
            *writer.create(asked("t" + std::to_string(t) + "i" + std::to_string(i) + "@example.com")));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<GiftRequestId> requests;
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kEach; ++i) {
      const CreateOutcome& outcome = outcomes[t][i];
      EXPECT_TRUE(requests.insert(outcome.request).second);
      ASSERT_EQ(outcome.recipients.size(), 1u);
      const auto stored = store_->gifts.recipients(outcome.request);
      ASSERT_EQ(stored.size(), 1u);
      EXPECT_EQ(stored.front().email, "t" + std::to_string(t) + "i" + std::to_string(i) + "@example.com");
    }
  }
}

TEST_F(GiftWriterTest, OneKeyFromManyCallersIsOneRequest) {
  GiftWriter writer(store_->gifts);
  std::vector<GiftRequestId> seen(12);
  std::vector<std::thread> threads;
  for (GiftRequestId& id : seen)
    threads.emplace_back([&] { id = writer.create(asked("a@example.com", "key"))->request; });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<GiftRequestId>(seen.begin(), seen.end()).size(), 1u);
}

}  // namespace
}  // namespace giftsync::daemon
