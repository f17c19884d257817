#include "daemon/http/handler_pool.h"

#include <system_error>
#include <utility>

#include "platform/periodic_worker.h"

namespace giftsync::http {

HandlerPool::HandlerPool(std::string name, std::size_t max_threads, std::size_t max_queued, PoolMeter& meter)
    : name_(std::move(name)), max_threads_(max_threads), max_queued_(max_queued), meter_(meter) {}

HandlerPool::~HandlerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    has_work_.notify_all();
    has_backlog_.notify_all();
  }
  // No thread starts from here on: only callers of post() start them, and the watcher, which is joined first.
  if (watcher_.joinable()) watcher_.join();
  for (std::thread& thread : threads_) thread.join();
}

bool HandlerPool::try_post(Task task) {
  const std::lock_guard lock(mutex_);
  if (queue_.size() >= max_queued_) {
    count_refusal();
    return false;
  }
  push(std::move(task));
  return true;
}

void HandlerPool::post(Task task) {
  const std::lock_guard lock(mutex_);
  push(std::move(task));
}

// The conditions are notified under the lock: a caller of post() may be the last one to use this object.
void HandlerPool::push(Task task) {
  queue_.push_back({std::move(task), Clock::now()});
  meter_.queued.fetch_add(1, std::memory_order_relaxed);
  if (stopping_) return;  // the destructor waits for the threads that there are
  if (threads_.size() == idle_) return wake_one();
  if (!watcher_.joinable()) {
    start_watcher();
  } else if (watcher_sleeps_) {
    watcher_sleeps_ = false;
    has_backlog_.notify_one();
  }
}

void HandlerPool::wake_one() {
  if (idle_ > 0) {
    --idle_;
    ++woken_;
    has_work_.notify_one();
  } else if (threads_.size() < max_threads_) {
    start_thread();
  }
}

// Where the system allows no further thread, those that there are take the task.
void HandlerPool::start_thread() {
  try {
    threads_.emplace_back([this] { run(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) throw;
  }
}

void HandlerPool::start_watcher() {
  try {
    watcher_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    wake_one();  // the next task tries again
  }
}

void HandlerPool::run() {
  name_thread(name_);
  std::unique_lock lock(mutex_);
  for (;;) {
    while (!queue_.empty()) {
      Task task = std::move(queue_.front().task);
      queue_.pop_front();
      meter_.queued.fetch_sub(1, std::memory_order_relaxed);
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
    if (stopping_) return;
    ++idle_;
    has_work_.wait(lock, [this] { return woken_ > 0 || stopping_; });
    if (woken_ > 0)
      --woken_;
    else
      --idle_;
  }
}

void HandlerPool::watch() {
  name_thread(name_);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (queue_.empty()) {
      watcher_sleeps_ = true;
      has_backlog_.wait(lock);
      watcher_sleeps_ = false;
      continue;
    }
    if (Clock::now() - queue_.front().since >= kPatience) wake_one();
    has_backlog_.wait_for(lock, kPatience);
  }
}

}  // namespace giftsync::http
