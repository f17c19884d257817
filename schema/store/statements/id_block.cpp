#include "schema/store/statements/id_block.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "schema/ids.h"
#include "schema/sql/database.h"
#include "schema/sql/no_change.h"

namespace giftsync::store {
namespace {

constexpr std::int64_t kBlockSize = 1000;

std::int64_t allocate_ids(soci::session& session, const std::string& name, std::int64_t count) {
  long long next = 0;
  session << "UPDATE id_block SET next_id = next_id + :count WHERE name = :name", soci::use(count),
      soci::use(name);
  ++sql::NoChange::id_rows();
  session << "SELECT next_id FROM id_block WHERE name = :name", soci::use(name), soci::into(next);
  return next - count;
}

}  // namespace

/// What this process holds of a database's ids, by name.
class HeldIds {
 public:
  struct Block {
    std::mutex mutex;
    std::int64_t next = 0;  // guarded by mutex
    std::int64_t end = 0;   // guarded by mutex
    /// Guarded by mutex. A block that another process gives back may begin below it.
    std::int64_t lowest = 1;
  };

  static std::shared_ptr<HeldIds> of(const std::shared_ptr<sql::Database>& database) {
    static std::mutex mutex;
    static std::map<const sql::Database*, std::weak_ptr<HeldIds>> all;
    const std::lock_guard lock(mutex);
    std::weak_ptr<HeldIds>& entry = all[database.get()];
    std::shared_ptr<HeldIds> held = entry.lock();
    if (!held) entry = held = std::make_shared<HeldIds>(database);
    return held;
  }

  explicit HeldIds(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}
  ~HeldIds() { give_back(); }
  HeldIds(const HeldIds&) = delete;
  HeldIds& operator=(const HeldIds&) = delete;

  sql::Database& database() { return *database_; }
  Block& block(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return blocks_[name];
  }

 private:
  void give_back() noexcept;

  const std::shared_ptr<sql::Database> database_;
  std::mutex mutex_;
  std::map<std::string, Block> blocks_;  // guarded by mutex_; entries stay where they are
};

/// An id that was allocated is below `next`, so it never is among these.
void HeldIds::give_back() noexcept {
  std::erase_if(blocks_, [](const auto& entry) { return entry.second.next == entry.second.end; });
  if (blocks_.empty()) return;
  try {
    const sql::NoChange no_change;
    database_->write([&](soci::session& session) {
      for (const auto& [name, block] : blocks_)
        session << "UPDATE id_block SET next_id = :next WHERE name = :name AND next_id = :block_end",
            soci::use(block.next), soci::use(name), soci::use(block.end);
    });
  } catch (const std::exception&) {
    // The store cannot be written. These ids stay unused, as after a kill.
  }
}

std::int64_t allocate_id(soci::session& session, const std::string& name) {
  return allocate_ids(session, name, 1);
}

IdBlock::IdBlock(const std::shared_ptr<sql::Database>& database, std::string name, HighestUsed highest_used)
    : name_(std::move(name)), highest_used_(highest_used), held_(HeldIds::of(database)) {}

std::int64_t IdBlock::allocate(std::int64_t count) {
  HeldIds::Block& block = held_->block(name_);
  const std::lock_guard lock(block.mutex);
  if (block.end - block.next < count) {
    const std::int64_t size = std::max(count, kBlockSize);
    const auto allocate = [&](soci::session& session) { return allocate_block(session, size); };
    std::int64_t first = 0;
    try {
      first = held_->database().write_urgent(allocate);
    } catch (const sql::CommitOutcomeUnknown&) {
      // A block allocated by the first attempt, if committed, stays unused.
      first = held_->database().write_urgent(allocate);
    }
    if (first != block.end) block.next = first;  // else it continues the block
    block.end = first + size;
  }
  const std::int64_t first = block.next;
  block.next += count;
  return first;
}

/// The distance doubles each time, so that ten million dense ids cost about fourteen queries.
std::int64_t IdBlock::allocate_block(soci::session& session, std::int64_t size) const {
  const std::int64_t lowest = held_->block(name_).lowest;
  std::int64_t first = allocate_ids(session, name_, size);
  if (first < lowest) {
    allocate_ids(session, name_, lowest - first);
    first = lowest;
  }
  for (std::int64_t span = size; highest_used_; span *= 2) {
    const auto last = highest_used_(session, first, first + span);
    if (!last) break;
    first = *last + 1;
    const std::int64_t next = first + size;
    session << "UPDATE id_block SET next_id = :next WHERE name = :name", soci::use(next), soci::use(name_);
    ++sql::NoChange::id_rows();
  }
  if (first + size - 1 > kMaxId)
    throw DependencyError(false, "the ids of each " + name_ + " are used up: the next would be above 2^53");
  return first;
}

std::int64_t IdBlock::next_minimum() {
  {
    HeldIds::Block& block = held_->block(name_);
    const std::lock_guard lock(block.mutex);
    if (block.next < block.end) return block.next;
  }
  return held_->database().read([&](soci::session& session) {
    long long next = 0;
    session << "SELECT next_id FROM id_block WHERE name = :name", soci::use(name_), soci::into(next);
    return static_cast<std::int64_t>(next);
  });
}

void IdBlock::raise_minimum(std::int64_t lowest) {
  HeldIds::Block& block = held_->block(name_);
  const std::lock_guard lock(block.mutex);
  held_->database().write([&](soci::session& session) {
    session << "UPDATE id_block SET next_id = :lowest WHERE name = :name AND next_id < :at_least",
        soci::use(lowest), soci::use(name_), soci::use(lowest);
  });
  block.lowest = std::max(block.lowest, lowest);
  if (block.next < lowest) block.next = block.end = 0;
}

}  // namespace giftsync::store
