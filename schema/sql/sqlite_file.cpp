#include "schema/sql/sqlite_file.h"

#include <algorithm>
#include <map>
#include <system_error>

#include "platform/periodic_worker.h"

namespace giftsync::sql {

void Checkpointer::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  if (thread_.joinable()) thread_.join();
}

bool Checkpointer::should_finish(int pages) {
  const std::lock_guard lock(mutex_);
  const bool has_started_again = pages < last_pages_;
  last_pages_ = pages;
  if (has_started_again) begin_at_ = kPages;
  if (state_ == State::copied) {
    state_ = State::waiting;
    begin_at_ = pages + kRetryPages;
    return true;
  }
  if (state_ == State::wanted || pages < begin_at_) return false;
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    begin_at_ = pages + kRetryPages;
    return true;  // without a thread the writer does all of it
  }
  state_ = State::wanted;
  wanted_.notify_one();
  return false;
}

void Checkpointer::run() {
  name_thread("checkpoints");
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [this] { return stopping_ || state_ == State::wanted; });
    if (stopping_) return;
    lock.unlock();
    checkpoint_();
    lock.lock();
    state_ = State::copied;
  }
}

std::shared_ptr<WriterLock> WriterLock::of_file(const std::string& path) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<WriterLock>> locks;
  const std::lock_guard lock(mutex);
  std::shared_ptr<WriterLock> writer_lock = locks[path].lock();
  if (!writer_lock) locks[path] = writer_lock = std::make_shared<WriterLock>();
  return writer_lock;
}

std::list<WriterLock::Waiter*>::const_iterator WriterLock::next_of(const std::list<Waiter*>& waiting,
                                                                   Time now) {
  const auto next = std::find_if(waiting.begin(), waiting.end(), [now](const Waiter* waiter) {
    return waiter->urgent || now - waiter->since >= kPatience;
  });
  return next == waiting.end() ? waiting.begin() : next;
}

void WriterLock::lock(bool urgent) {
  std::unique_lock lock(mutex_);
  if (!locked_) {
    locked_ = true;
    return;
  }
  Waiter waiter{urgent, std::chrono::steady_clock::now()};
  waiting_.push_back(&waiter);
  waiter.wake_up.wait(lock, [&waiter] { return waiter.is_next; });
}

// The lock goes from hand to hand: a thread that unlocks and locks again at once queues behind the others.
void WriterLock::unlock() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    locked_ = false;
    return;
  }
  const auto next = next_of(waiting_, std::chrono::steady_clock::now());
  Waiter& waiter = **next;
  waiting_.erase(next);
  waiter.is_next = true;
  waiter.wake_up.notify_one();  // under the mutex: the waiter's condition variable ends with its lock()
}

}  // namespace giftsync::sql
