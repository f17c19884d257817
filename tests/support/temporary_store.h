// A SQLite store in its own folder for tests of the daemon's steps.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "schema/store/store.h"

namespace giftsync::tests {

class TemporaryStore {
 public:
  TemporaryStore();
  ~TemporaryStore();
  TemporaryStore(const TemporaryStore&) = delete;
  TemporaryStore& operator=(const TemporaryStore&) = delete;

  sql::Dsn address() const { return {sql::Dialect::sqlite, (folder_ / "store.db").string()}; }
  store::Store& operator*() { return *store_; }
  store::Store* operator->() { return store_.get(); }

  /// The ids of `count` gifts.
  std::vector<TransactionId> create_gifts(std::size_t count);

 private:
  std::filesystem::path folder_;
  std::unique_ptr<store::Store> store_;
};

}  // namespace giftsync::tests
