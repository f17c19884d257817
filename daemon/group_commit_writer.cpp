#include "daemon/group_commit_writer.h"

#include <algorithm>

namespace giftsync::daemon {

GroupCommitWriter::GroupCommitWriter(schema::store::GiftRequests& gift_requests)
    : gift_requests_(gift_requests), thread_([this] { run(); }) {}

GroupCommitWriter::~GroupCommitWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

std::optional<schema::store::CreateOutcome> GroupCommitWriter::create(schema::store::NewGiftRequest request) {
  Waiter waiter{std::move(request), {}, nullptr, {}};
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiters_.size() >= kMaxWaiters) return std::nullopt;
    waiters_.push_back(&waiter);
  }
  changed_.notify_one();
  waiter.done.wait();
  if (waiter.fault) std::rethrow_exception(waiter.fault);
  return std::move(waiter.outcome);
}

bool GroupCommitWriter::is_under_load() const {
  return std::chrono::steady_clock::now() - last_load_.load() < kLoadWindow;
}

std::vector<GroupCommitWriter::Waiter*> GroupCommitWriter::next_group() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !waiters_.empty(); });
  const auto end = waiters_.begin() + static_cast<std::ptrdiff_t>(std::min(waiters_.size(), kMaxGroupSize));
  std::vector<Waiter*> group(waiters_.begin(), end);
  waiters_.erase(waiters_.begin(), end);
  return group;
}

void GroupCommitWriter::write(const std::vector<Waiter*>& group) {
  if (group.size() >= kLoadThreshold) last_load_ = std::chrono::steady_clock::now();
  std::vector<schema::store::NewGiftRequest> requests;
  requests.reserve(group.size());
  for (Waiter* waiter : group) requests.push_back(std::move(waiter->request));
  std::exception_ptr fault;
  std::vector<schema::store::CreateOutcome> outcomes;
  try {
    outcomes = gift_requests_.create(requests);
    resolve_unknown(requests, outcomes);
  } catch (...) {
    fault = std::current_exception();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i]->fault = fault;
    if (!fault) group[i]->outcome = std::move(outcomes[i]);
    group[i]->done.post();  // the waiter may be destroyed from here on
  }
}

/// A "failed" response for a gift that was committed would make the caller send it again. So the callers wait
/// until the store can answer.
void GroupCommitWriter::resolve_unknown(const std::vector<schema::store::NewGiftRequest>& requests,
                                        std::vector<schema::store::CreateOutcome>& outcomes) {
  const auto deadline = std::chrono::steady_clock::now() + kUnknownTimeout;
  const auto unresolved = [&] {
    return std::find_if(outcomes.begin(), outcomes.end(), [](const schema::store::CreateOutcome& outcome) {
      return outcome.kind == schema::store::CreateOutcome::Kind::unknown;
    });
  };
  for (auto unknown = unresolved(); unknown != outcomes.end(); unknown = unresolved()) {
    *unknown = gift_requests_.resolve_unknown(requests[static_cast<std::size_t>(unknown - outcomes.begin())],
                                              *unknown);
    if (unknown->kind != schema::store::CreateOutcome::Kind::unknown) continue;
    if (std::chrono::steady_clock::now() >= deadline || is_stopping_after(kRetryInterval)) return;
  }
}

bool GroupCommitWriter::is_stopping_after(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, pause, [this] { return stopping_; });
}

void GroupCommitWriter::run() {
  for (std::vector<Waiter*> group = next_group(); !group.empty(); group = next_group()) write(group);
}

}  // namespace giftsync::daemon
