#include "sync/attempt_writer.h"

#include <algorithm>
#include <utility>

#include "platform/dependency_error.h"

namespace giftsync::sync {
namespace {

/// A group waits for the other connections at most this long, and at most a quarter of a commit.
constexpr std::chrono::microseconds kMaxGathering{2000};

}  // namespace

AttemptWriter::AttemptWriter(schema::store::DeliveryQueue& queue, std::function<platform::UtcMillis()> now)
    : queue_(queue), now_(std::move(now)) {}

void AttemptWriter::join() {
  const std::lock_guard lock(mutex_);
  ++joined_;
}

void AttemptWriter::leave() {
  {
    const std::lock_guard lock(mutex_);
    --joined_;
  }
  changed_.notify_all();
}

std::vector<bool> AttemptWriter::write(const std::string& owner, const Attempts& attempts) {
  Waiting own{owner, attempts};
  std::unique_lock lock(mutex_);
  waiting_.push_back(&own);
  changed_.notify_all();
  while (!own.is_done) {
    if (has_leader_)
      changed_.wait(lock);
    else
      lead(lock);
  }
  if (own.fault) std::rethrow_exception(own.fault);
  return std::move(own.has_begun);
}

/// Commits all that waits, for the connections that wait.
void AttemptWriter::lead(std::unique_lock<std::mutex>& lock) {
  has_leader_ = true;
  changed_.wait_for(lock, std::min(last_commit_ / 4, kMaxGathering),
                    [this] { return waiting_.size() >= joined_; });
  const std::vector<Waiting*> group = std::exchange(waiting_, {});
  lock.unlock();
  const auto started_at = std::chrono::steady_clock::now();
  commit(group);
  last_commit_ =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - started_at);
  lock.lock();
  for (Waiting* one : group) one->is_done = true;
  has_leader_ = false;
  changed_.notify_all();
}

/// Sets result or fault of each.
void AttemptWriter::commit(const std::vector<Waiting*>& group) {
  bool is_transient = true;
  try {
    commit_together(group);
    return;
  } catch (const platform::DependencyError& error) {
    is_transient = error.transient();
    for (Waiting* one : group) one->fault = std::current_exception();
  } catch (...) {
    for (Waiting* one : group) one->fault = std::current_exception();
  }
  if (is_transient || group.size() == 1) return;
  for (Waiting* one : group) {  // one of them is at fault: each for itself
    one->fault = nullptr;
    commit({one});
  }
}

void AttemptWriter::commit_together(const std::vector<Waiting*>& group) {
  std::vector<schema::store::DeliveryOutcome> ended;
  schema::store::DeliveryQueue::Beginning beginning{group.front()->owner, {}, kSendingLeaseMillis};
  for (const Waiting* one : group) {
    ended.insert(ended.end(), one->attempts.ended.begin(), one->attempts.ended.end());
    beginning.sendings.insert(beginning.sendings.end(), one->attempts.begun.begin(),
                              one->attempts.begun.end());
  }
  const std::vector<bool> has_begun = queue_.finish_and_begin(ended, beginning, now_());
  auto next = has_begun.begin();
  for (Waiting* one : group) {
    const auto count = static_cast<std::ptrdiff_t>(one->attempts.begun.size());
    one->has_begun.assign(next, next + count);
    next += count;
  }
}

}  // namespace giftsync::sync
