// schema/store: ids, handed out in blocks (hi-lo), so that a request knows its ids before its transaction
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

namespace giftsync::schema {

namespace sql {
class Database;
}

/// Ids of one kind. Those left in the block when the program ends are never used.
class IdBlock {
 public:
  /// The highest id from `first` to before `end` that has come into use by itself.
  using Occupied = std::optional<std::int64_t> (*)(soci::session& session, std::int64_t first,
                                                   std::int64_t end);
  /// Blocks are taken behind what `occupied` (may be null) tells.
  IdBlock(std::shared_ptr<sql::Database> database, std::string name, Occupied occupied = nullptr);
  /// The first of `count` consecutive ids, none above kMaxId; throws BrokenWorld when they are used up. Any
  /// thread.
  std::int64_t take(std::int64_t count);
  /// Where the next id comes from at the earliest.
  std::int64_t lowest_next();
  /// Hands out no id below `lowest` any more, in this program and every other.
  void start_at(std::int64_t lowest);

 private:
  std::int64_t take_block(soci::session& session, std::int64_t size) const;

  const std::shared_ptr<sql::Database> database_;
  const std::string name_;
  const Occupied occupied_;
  std::mutex mutex_;
  std::int64_t next_ = 0;  // guarded by mutex_
  std::int64_t end_ = 0;   // guarded by mutex_
};

/// One id, taken inside the caller's transaction: for what is created seldom.
std::int64_t take_id(soci::session& session, const std::string& name);

}  // namespace giftsync::schema
