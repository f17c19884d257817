// A store in a folder of its own (SQLite) for tests of the daemon's steps.
#pragma once

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "schema/store/store.h"

namespace giftsync::daemon {

class TemporaryStore {
 public:
  TemporaryStore() {
    static std::atomic<int> counter{0};
    folder_ = std::filesystem::temp_directory_path() /
              ("giftsync_daemon_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
    std::filesystem::remove_all(folder_);  // of a killed test that had this process number
    std::filesystem::create_directories(folder_);
    schema::migrate_store(address());
    store_ = std::make_unique<schema::Store>(address());
  }
  ~TemporaryStore() {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryStore(const TemporaryStore&) = delete;
  TemporaryStore& operator=(const TemporaryStore&) = delete;

  schema::DatabaseAddress address() const {
    return {schema::Dialect::sqlite, (folder_ / "store.db").string()};
  }
  schema::Store& operator*() { return *store_; }
  schema::Store* operator->() { return store_.get(); }

  /// The ids of so many gifts.
  std::vector<schema::TransactionId> gifts(std::size_t count) {
    schema::NewGiftRequest asked;
    asked.request.account = {1};
    asked.request.gift = {7};
    asked.request.item_name = "Coffee";
    asked.request.sender_email = "sam@example.com";
    asked.request.created_at = {1'700'000'000'000};
    for (std::size_t i = 0; i < count; ++i)
      asked.recipients.push_back({"p" + std::to_string(i) + "@example.com", "", "", "Hi"});
    std::vector<schema::TransactionId> ids;
    const auto outcomes = store_->gifts.create(std::span(&asked, 1));
    for (const auto& one : outcomes.front().recipients) ids.push_back(one.id);
    return ids;
  }

 private:
  std::filesystem::path folder_;
  std::unique_ptr<schema::Store> store_;
};

}  // namespace giftsync::daemon
