#include "daemon/group_commit_writer.h"

#include <algorithm>
#include <iterator>

#include "daemon/awaited_value.h"

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

bool GroupCommitWriter::submit(schema::store::NewGiftRequest request,
                               Done<schema::store::CreateOutcome> done) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= kMaxWaiting) return false;
    waiting_.push_back({std::move(request), std::move(done)});
  }
  changed_.notify_one();
  return true;
}

std::optional<schema::store::CreateOutcome> GroupCommitWriter::write(schema::store::NewGiftRequest request) {
  AwaitedValue<sync::Written<schema::store::CreateOutcome>> written;
  const bool is_waiting =
      submit(std::move(request), [&written](auto value) { written.set(std::move(value)); });
  if (!is_waiting) return std::nullopt;
  return written.wait().value();
}

bool GroupCommitWriter::is_under_load() const {
  return std::chrono::steady_clock::now() - last_load_.load() < kLoadWindow;
}

std::vector<GroupCommitWriter::Waiting> GroupCommitWriter::next_group() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMaxGroupSize));
  std::vector<Waiting> group(std::move_iterator(waiting_.begin()), std::move_iterator(end));
  waiting_.erase(waiting_.begin(), end);
  return group;
}

void GroupCommitWriter::write_group(std::vector<Waiting> group) {
  if (group.size() >= kLoadThreshold) last_load_ = std::chrono::steady_clock::now();
  std::vector<schema::store::NewGiftRequest> requests;
  requests.reserve(group.size());
  for (Waiting& waiting : group) requests.push_back(std::move(waiting.request));
  std::exception_ptr fault;
  std::vector<schema::store::CreateOutcome> outcomes;
  try {
    outcomes = gift_requests_.create(requests);
    resolve_unknown(requests, outcomes);
  } catch (...) {
    fault = std::current_exception();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (fault)
      group[i].done({{}, fault});
    else
      group[i].done({std::move(outcomes[i]), nullptr});
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
  for (std::vector<Waiting> group = next_group(); !group.empty(); group = next_group())
    write_group(std::move(group));
}

}  // namespace giftsync::daemon
