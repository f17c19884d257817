// A SQLite store in its own folder for tests of the daemon's steps.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "schema/store/store.h"

namespace giftsync::tests {

class TemporaryStore {
 public:
  TemporaryStore() {
    static std::atomic<int> counter{0};
    folder_ = std::filesystem::temp_directory_path() /
              ("giftsync_daemon_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
    std::filesystem::remove_all(folder_);  // left by a killed test with this process id
    std::filesystem::create_directories(folder_);
    store::migrate_store(address());
    store_ = std::make_unique<store::Store>(address());
  }
  ~TemporaryStore() {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryStore(const TemporaryStore&) = delete;
  TemporaryStore& operator=(const TemporaryStore&) = delete;

  sql::Dsn address() const { return {sql::Dialect::sqlite, (folder_ / "store.db").string()}; }
  store::Store& operator*() { return *store_; }
  store::Store* operator->() { return store_.get(); }

  /// The ids of `count` gifts.
  std::vector<TransactionId> create_gifts(std::size_t count) {
    store::NewGiftRequest new_request;
    new_request.request.account = {1};
    new_request.request.gift = {7};
    new_request.request.item_name = "Coffee";
    new_request.request.sender_email = "sam@example.com";
    new_request.request.created_at = {1'700'000'000'000};
    for (std::size_t i = 0; i < count; ++i)
      new_request.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    std::vector<TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&new_request, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace giftsync::tests
