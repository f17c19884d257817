// schema/store: what test gifts have that others have not (TEST-1): the record that the CRM would have
// (TEST-3), and an end: they are deleted with all their rows (TEST-9). Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "platform/time.h"
#include "schema/ids.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

class TestGifts {
 public:
  explicit TestGifts(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

  /// Replaces the records of these gifts.
  void save_records(const std::map<TransactionId, std::string>& records);
  /// The records as JSON, of the gifts that have one.
  std::map<TransactionId, std::string> find_records(std::span<const TransactionId> gifts);

  /// The most gifts that one purge deletes; of one request all.
  static constexpr std::size_t kMaxPurged = 5'000;
  /// Deletes test gifts whose requests were made before then, and requests that were held before then, in one
  /// transaction; returns how many gifts and held requests. 0: there are no more.
  std::int64_t purge(UtcMillis before);

 private:
  std::shared_ptr<sql::Database> database_;
};

}  // namespace giftsync::store
