#include "daemon/group_commit_writer.h"

#include "platform/periodic_worker.h"

namespace giftsync::daemon {
namespace {

using store::ConditionalOutcome;
using store::CreateOutcome;
using store::Decision;
using store::InboundBatch;
using store::IngestResult;
using store::NewGiftRequest;

template <class Outcome>
void report(const std::vector<sync::UrgentWriter::Done<Outcome>>& callers,
            std::vector<store::Written<Outcome>> written) {
  for (std::size_t i = 0; i < callers.size(); ++i) callers[i](std::move(written[i]));
}

}  // namespace

GroupCommitWriter::GroupCommitWriter(store::UrgentWrites& writes, Observer observer)
    : writes_(writes), observer_(std::move(observer)), thread_([this] { run(); }) {}

GroupCommitWriter::~GroupCommitWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

template <class Queue, class Member, class Caller>
bool GroupCommitWriter::enqueue(Queue& queue, Member member, Caller done) {
  bool is_waiting = false;
  {
    const std::lock_guard lock(mutex_);
    is_waiting = !stopping_ && queue.push(std::move(member), std::move(done));
  }
  if (!is_waiting) {
    observer_.on_refusal();
    return false;
  }
  changed_.notify_one();
  return true;
}

bool GroupCommitWriter::submit(NewGiftRequest request, Done<CreateOutcome> done) {
  return enqueue(gift_requests_, std::move(request), std::move(done));
}

bool GroupCommitWriter::submit(InboundBatch message, Done<IngestResult> done) {
  return enqueue(messages_, std::move(message), std::move(done));
}

bool GroupCommitWriter::submit(Decision decision, Done<ConditionalOutcome> done) {
  return enqueue(decisions_, std::move(decision), std::move(done));
}

template <class Outcome, class Member>
std::optional<Outcome> GroupCommitWriter::submit_and_wait(Member member) {
  AwaitedValue<store::Written<Outcome>> written;
  const bool is_waiting =
      submit(std::move(member), [&written](store::Written<Outcome> value) { written.set(std::move(value)); });
  if (!is_waiting) return std::nullopt;
  return written.wait().value();
}

std::optional<CreateOutcome> GroupCommitWriter::write(NewGiftRequest request) {
  return submit_and_wait<CreateOutcome>(std::move(request));
}

std::optional<IngestResult> GroupCommitWriter::write(InboundBatch message) {
  return submit_and_wait<IngestResult>(std::move(message));
}

std::optional<ConditionalOutcome> GroupCommitWriter::write(Decision decision) {
  return submit_and_wait<ConditionalOutcome>(std::move(decision));
}

bool GroupCommitWriter::is_under_load() const {
  return std::chrono::steady_clock::now() - last_load_.load() < kLoadWindow;
}

GroupCommitWriter::Group GroupCommitWriter::next_group() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return stopping_ || !gift_requests_.empty() || !messages_.empty() || !decisions_.empty();
  });
  const auto shares =
      fair_shares<3>({gift_requests_.size(), messages_.size(), decisions_.size()}, kMaxGroupSize);
  return {gift_requests_.take(shares[0]), messages_.take(shares[1]), decisions_.take(shares[2])};
}

void GroupCommitWriter::write_group(Group group) {
  const auto begin = std::chrono::steady_clock::now();
  const std::size_t members = group.size();
  if (members >= kLoadThreshold) last_load_ = begin;
  const store::WriteGroup writes{std::move(group.gift_requests.members), std::move(group.messages.members),
                                 std::move(group.decisions.members)};
  const auto may_try_again = [&] {
    return std::chrono::steady_clock::now() < begin + kUnknownTimeout && !is_stopping_after(kRetryInterval);
  };
  store::GroupOutcomes outcomes = writes_.write(writes, may_try_again);
  observer_.on_commit(members, std::chrono::steady_clock::now() - begin);
  report(group.gift_requests.callers, std::move(outcomes.gift_requests));
  report(group.messages.callers, std::move(outcomes.messages));
  report(group.decisions.callers, std::move(outcomes.decisions));
}

bool GroupCommitWriter::is_stopping_after(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, pause, [this] { return stopping_; });
}

void GroupCommitWriter::run() {
  name_thread("writer");
  for (Group group = next_group(); group.size() > 0; group = next_group()) write_group(std::move(group));
}

}  // namespace giftsync::daemon
