#include "schema/store/id_block.h"

#include <algorithm>

#include "schema/ids.h"
#include "schema/sql/database.h"

namespace giftsync::schema {
namespace {

constexpr std::int64_t kBlockSize = 1000;

std::int64_t take_ids(soci::session& session, const std::string& name, std::int64_t count) {
  long long next = 0;
  session << "UPDATE id_block SET next_id = next_id + :count WHERE name = :name", soci::use(count),
      soci::use(name);
  session << "SELECT next_id FROM id_block WHERE name = :name", soci::use(name), soci::into(next);
  return next - count;
}

}  // namespace

std::int64_t take_id(soci::session& session, const std::string& name) {
  return take_ids(session, name, 1);
}

IdBlock::IdBlock(std::shared_ptr<sql::Database> database, std::string name, Occupied occupied)
    : database_(std::move(database)), name_(std::move(name)), occupied_(occupied) {}

std::int64_t IdBlock::take(std::int64_t count) {
  const std::lock_guard lock(mutex_);
  if (end_ - next_ < count) {
    const std::int64_t size = std::max(count, kBlockSize);
    const auto take = [&](soci::session& session) { return take_block(session, size); };
    try {
      next_ = database_->write_urgently(take);
    } catch (const sql::CommitUnknown&) {
      next_ = database_->write_urgently(take);  // the one before, if it stands, is nobody's
    }
    end_ = next_ + size;
  }
  const std::int64_t first = next_;
  next_ += count;
  return first;
}

/// The look goes twice as far each time, so that ten million dense ids cost some fourteen.
std::int64_t IdBlock::take_block(soci::session& session, std::int64_t size) const {
  std::int64_t first = take_ids(session, name_, size);
  for (std::int64_t span = size; occupied_; span *= 2) {
    const auto last = occupied_(session, first, first + span);
    if (!last) break;
    first = *last + 1;
    const std::int64_t next = first + size;
    session << "UPDATE id_block SET next_id = :next WHERE name = :name", soci::use(next), soci::use(name_);
  }
  if (first + size - 1 > kMaxId)
    throw BrokenWorld(false, "the ids of each " + name_ + " are used up: the next would be above 2^53");
  return first;
}

std::int64_t IdBlock::lowest_next() {
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

void IdBlock::start_at(std::int64_t lowest) {
  const std::lock_guard lock(mutex_);
  database_->write([&](soci::session& session) {
    session << "UPDATE id_block SET next_id = :lowest WHERE name = :name AND next_id < :at_least",
        soci::use(lowest), soci::use(name_), soci::use(lowest);
  });
  if (next_ < lowest) next_ = end_ = 0;
}

}  // namespace giftsync::schema
