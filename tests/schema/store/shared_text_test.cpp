// A text of the store that several processes change.
#include "schema/store/shared_text.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "schema/sql/database.h"
#include "tests/support/store_fixture.h"

namespace giftsync::store {
namespace {

class SharedTextTest : public tests::StoreFixture {
 protected:
  SharedText text() { return SharedText(address(), "counter"); }
};

TEST_P(SharedTextTest, AChangeGetsWhatTheLastOneReturned) {
  EXPECT_EQ(text().read(), std::nullopt);
  text().update([](const std::optional<std::string>& before) { return before.value_or("first"); });
  EXPECT_EQ(text().read(), "first");
  EXPECT_EQ(store_->metadata("counter"), "first");
  text().update([](const std::optional<std::string>& before) { return before.value() + ", second"; });
  EXPECT_EQ(text().read(), "first, second");
  text().remove();
  EXPECT_EQ(text().read(), std::nullopt);
}

TEST_P(SharedTextTest, AFaultOfTheChangeLeavesTheText) {
  text().update([](const std::optional<std::string>&) { return "kept"; });
  EXPECT_THROW(
      text().update([](const std::optional<std::string>&) -> std::string { throw std::runtime_error("no"); }),
      std::runtime_error);
  EXPECT_EQ(text().read(), "kept");
}

// ORG-5
TEST_P(SharedTextTest, NoChangeOfSeveralThreadsIsLost) {
  constexpr int kThreads = 4;
  constexpr int kChanges = 25;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this] {
      for (int change = 0; change < kChanges; ++change)
        text().update([](const std::optional<std::string>& before) {
          return std::to_string(std::stoi(before.value_or("0")) + 1);
        });
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text().read(), std::to_string(kThreads * kChanges));
}

// ORG-15
TEST_P(SharedTextTest, WhatIsDoneNowAndThenIsBegunByOneProcess) {
  EXPECT_TRUE(text().begin_after(60'000));
  EXPECT_FALSE(text().begin_after(60'000)) << "another one has begun a moment ago";
  EXPECT_TRUE(text().begin_after(0));
  const std::string now(sql::database_now(dialect()));
  const auto started = [&](const std::string& at) {
    sql("UPDATE store_metadata SET value = CAST(" + at + " AS TEXT) WHERE name = 'counter'");
    return text().begin_after(60'000);
  };
  EXPECT_TRUE(started(now + " - 60001"));
  EXPECT_FALSE(started(now + " - 30000"));
  EXPECT_TRUE(started(now + " + 600000")) << "by a clock that was ahead";
  EXPECT_TRUE(started("'another form'"));
}

INSTANTIATE_TEST_SUITE_P(BackEnds, SharedTextTest,
                         testing::Values(sql::Dialect::sqlite, sql::Dialect::postgresql),
                         tests::name_of_dialect);

}  // namespace
}  // namespace giftsync::store
