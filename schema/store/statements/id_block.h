// schema/store: allocates ids in blocks (hi-lo), so that a request has its ids before its transaction
// begins.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace soci {
class session;
}

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

class HeldIds;

/// Ids of one kind. All of a name on one database have one block in this process, so an application that a
/// reload builds goes on where the former one is. What remains when the last one ends is given back, if no
/// other process has allocated since (ARCH-16).
class IdBlock {
 public:
  /// Returns the highest used id from `first` to before `end`.
  using HighestUsed = std::optional<std::int64_t> (*)(soci::session& session, std::int64_t first,
                                                      std::int64_t end);
  /// Blocks start behind the result of `highest_used` (may be null).
  IdBlock(const std::shared_ptr<sql::Database>& database, std::string name,
          HighestUsed highest_used = nullptr);
  /// The first of `count` consecutive ids, none above kMaxId; throws DependencyError when the ids are
  /// exhausted. Any thread.
  std::int64_t allocate(std::int64_t count);
  /// The lowest possible next id.
  std::int64_t next_minimum();
  /// Allocates no id below `lowest` from now on, in this and every other process.
  void raise_minimum(std::int64_t lowest);

 private:
  std::int64_t allocate_block(soci::session& session, std::int64_t size) const;

  const std::string name_;
  const HighestUsed highest_used_;
  const std::shared_ptr<HeldIds> held_;
};

/// Allocates one id inside the caller's transaction; for rarely created objects.
std::int64_t allocate_id(soci::session& session, const std::string& name);

}  // namespace giftsync::store
