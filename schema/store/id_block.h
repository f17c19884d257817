// schema/store: allocates ids in blocks (hi-lo), so that a request has its ids before its transaction
// begins.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace soci {
class session;
}

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

/// Ids of one kind. Ids that remain in the block at the end of the program are never used.
class IdBlock {
 public:
  /// Returns the highest used id from `first` to before `end`.
  using HighestUsed = std::optional<std::int64_t> (*)(soci::session& session, std::int64_t first,
                                                      std::int64_t end);
  /// Blocks start behind the result of `highest_used` (may be null).
  IdBlock(std::shared_ptr<sql::Database> database, std::string name, HighestUsed highest_used = nullptr);
  /// The first of `count` consecutive ids, none above kMaxId; throws DependencyError when the ids are
  /// exhausted. Any thread.
  std::int64_t allocate(std::int64_t count);
  /// The lowest possible next id.
  std::int64_t next_minimum();
  /// Allocates no id below `lowest` from now on, in this and every other process.
  void raise_minimum(std::int64_t lowest);

 private:
  std::int64_t allocate_block(soci::session& session, std::int64_t size) const;

  const std::shared_ptr<sql::Database> database_;
  const std::string name_;
  const HighestUsed highest_used_;
  std::mutex mutex_;
  std::int64_t next_ = 0;  // guarded by mutex_
  std::int64_t end_ = 0;   // guarded by mutex_
};

/// Allocates one id inside the caller's transaction; for rarely created objects.
std::int64_t allocate_id(soci::session& session, const std::string& name);

}  // namespace giftsync::schema::store
