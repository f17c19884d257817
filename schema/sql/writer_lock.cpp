#include "schema/sql/writer_lock.h"

#include <map>

namespace giftsync::schema::sql {

std::shared_ptr<WriterLock> WriterLock::of_file(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<WriterLock>> locks;
  const std::lock_guard lock(mutex);
  std::shared_ptr<WriterLock> writer_lock = locks[path].lock();
  if (!writer_lock) locks[path] = writer_lock = std::make_shared<WriterLock>();
  return writer_lock;
}

void WriterLock::lock(bool urgent) {
  std::unique_lock lock(mutex_);
  if (urgent) {
    ++urgent_waiting_;
    changed_.wait(lock, [this] { return !locked_; });
    --urgent_waiting_;
  } else {
    changed_.wait(lock, [this] { return !locked_ && urgent_waiting_ == 0; });
  }
  locked_ = true;
}

void WriterLock::unlock() {
  {
    const std::lock_guard lock(mutex_);
    locked_ = false;
  }
  changed_.notify_all();
}

}  // namespace giftsync::schema::sql
