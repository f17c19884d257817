#include "tests/support/temporary_store.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace giftsync::tests {

TemporaryStore::TemporaryStore() {
  static std::atomic<int> counter{0};
  folder_ = std::filesystem::temp_directory_path() /
            ("giftsync_daemon_" + std::to_string(::getpid()) + "_" + std::to_string(counter++));
  std::filesystem::remove_all(folder_);  // left by a killed test with this process id
  std::filesystem::create_directories(folder_);
  store::migrate_store(address());
  store_ = std::make_unique<store::Store>(address());
}

TemporaryStore::~TemporaryStore() {
  store_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::vector<TransactionId> TemporaryStore::create_gifts(std::size_t count) {
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

}  // namespace giftsync::tests
