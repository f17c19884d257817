#include "schema/store/id_block.h"

#include <algorithm>

#include "schema/ids.h"
#include "schema/sql/database.h"
#include "schema/sql/no_change.h"

namespace giftsync::schema::store {
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

std::int64_t allocate_id(soci::session& session, const std::string& name) {
  return allocate_ids(session, name, 1);
}

IdBlock::IdBlock(std::shared_ptr<sql::Database> database, std::string name, HighestUsed highest_used)
    : database_(std::move(database)), name_(std::move(name)), highest_used_(highest_used) {}

std::int64_t IdBlock::allocate(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  if (end_ - next_ < count) {
    const std::int64_t size = std::max(count, kBlockSize);
    const auto allocate = [&](soci::session& session) { return allocate_block(session, size); };
    try {
      next_ = database_->write_urgent(allocate);
    } catch (const sql::CommitOutcomeUnknown&) {
      next_ = database_->write_urgent(
          allocate);  // a block allocated by the first attempt, if committed, stays unused
    }
    end_ = next_ + size;
  }
  const std::int64_t first = next_;
  next_ += count;
  return first;
}

/// The distance doubles each time, so that ten million dense ids cost about fourteen queries.
std::int64_t IdBlock::allocate_block(soci::session& session, std::int64_t size) const {
  std::int64_t first = allocate_ids(session, name_, size);
  for (std::int64_t span = size; highest_used_; span *= 2) {
    const auto last = highest_used_(session, first, first + span);
    if (!last) break;
    first = *last + 1;
    const std::int64_t next = first + size;
    session << "UPDATE id_block SET next_id = :next WHERE name = :name", soci::use(next), soci::use(name_);
    ++sql::NoChange::id_rows();
  }
  if (first + size - 1 > kMaxId)
    throw platform::DependencyError(
        false, "the ids of each " + name_ + " are used up: the next would be above 2^53");
  return first;
}

std::int64_t IdBlock::next_minimum() {
  {
    const std::lock_guard lock(mutex_);
    if (next_ < end_) return next_;
  }
  return database_->read([&](soci::session& session) {
    long long next = 0;
    session << "SELECT next_id FROM id_block WHERE name = :name", soci::use(name_), soci::into(next);
    return static_cast<std::int64_t>(next);
  });
}

void IdBlock::raise_minimum(std::int64_t lowest) {
  const std::lock_guard lock(mutex_);
  database_->write([&](soci::session& session) {
    session << "UPDATE id_block SET next_id = :lowest WHERE name = :name AND next_id < :at_least",
        soci::use(lowest), soci::use(name_), soci::use(lowest);
  });
  if (next_ < lowest) next_ = end_ = 0;
}

}  // namespace giftsync::schema::store
