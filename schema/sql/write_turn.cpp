#include "schema/sql/write_turn.h"

#include <map>

namespace giftsync::schema::sql {

std::shared_ptr<WriteTurn> WriteTurn::of_file(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<WriteTurn>> turns;
  const std::lock_guard lock(mutex);
  std::shared_ptr<WriteTurn> turn = turns[path].lock();
  if (!turn) turns[path] = turn = std::make_shared<WriteTurn>();
  return turn;
}

void WriteTurn::take(bool urgent) {
  std::unique_lock lock(mutex_);
  if (urgent) {
    ++urgent_waiting_;
    changed_.wait(lock, [this] { return !taken_; });
    --urgent_waiting_;
  } else {
    changed_.wait(lock, [this] { return !taken_ && urgent_waiting_ == 0; });
  }
  taken_ = true;
}

void WriteTurn::give_back() {
  {
    const std::lock_guard lock(mutex_);
    taken_ = false;
  }
  changed_.notify_all();
}

}  // namespace giftsync::schema::sql
