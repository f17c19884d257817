#include "schema/sql/checkpointer.h"

#include <system_error>
#include <utility>

#include "platform/thread_name.h"

namespace giftsync::schema::sql {

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
  const bool has_begun_again = pages < last_pages_;
  last_pages_ = pages;
  if (has_begun_again) begin_at_ = kPages;
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
  platform::name_thread("checkpoints");
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

}  // namespace giftsync::schema::sql
