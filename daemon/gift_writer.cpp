#include "daemon/gift_writer.h"

#include <algorithm>

namespace giftsync::daemon {

GiftWriter::GiftWriter(schema::GiftLedger& ledger) : ledger_(ledger), thread_([this] { run(); }) {}

GiftWriter::~GiftWriter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  arrived_.notify_one();
  thread_.join();
}

std::optional<schema::CreateOutcome> GiftWriter::create(schema::NewGiftRequest request) {
  Seat seat{std::move(request), {}, nullptr, {}};
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= kMostWaiting) return std::nullopt;
    waiting_.push_back(&seat);
  }
  arrived_.notify_one();
  seat.done.wait();
  if (seat.fault) std::rethrow_exception(seat.fault);
  return std::move(seat.outcome);
}

bool GiftWriter::is_crowded() const {
  return std::chrono::steady_clock::now() - last_crowd_.load() < kCrowdLasts;
}

std::vector<GiftWriter::Seat*> GiftWriter::next_group() {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
  const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(std::min(waiting_.size(), kMostInGroup));
  std::vector<Seat*> group(waiting_.begin(), end);
  waiting_.erase(waiting_.begin(), end);
  return group;
}

void GiftWriter::write(const std::vector<Seat*>& group) {
  if (group.size() >= kCrowd) last_crowd_ = std::chrono::steady_clock::now();
  std::vector<schema::NewGiftRequest> requests;
  requests.reserve(group.size());
  for (Seat* seat : group) requests.push_back(std::move(seat->request));
  std::exception_ptr fault;
  std::vector<schema::CreateOutcome> outcomes;
  try {
    outcomes = ledger_.create(requests);
    settle_unknown(requests, outcomes);
  } catch (...) {
    fault = std::current_exception();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i]->fault = fault;
    if (!fault) group[i]->outcome = std::move(outcomes[i]);
    group[i]->done.ring();  // the seat may be gone from here on
  }
}

/// An answer of "failed" for a gift that stands would make its caller send it again. So nobody is answered
/// while the store may still tell.
void GiftWriter::settle_unknown(const std::vector<schema::NewGiftRequest>& requests,
                                std::vector<schema::CreateOutcome>& outcomes) {
  const auto give_up = std::chrono::steady_clock::now() + kPatience;
  const auto next = [&] {
    return std::find_if(outcomes.begin(), outcomes.end(), [](const schema::CreateOutcome& outcome) {
      return outcome.kind == schema::CreateOutcome::Kind::unknown;
    });
  };
  for (auto unknown = next(); unknown != outcomes.end(); unknown = next()) {
    *unknown = ledger_.settle(requests[static_cast<std::size_t>(unknown - outcomes.begin())], *unknown);
    if (unknown->kind != schema::CreateOutcome::Kind::unknown) continue;
    if (std::chrono::steady_clock::now() >= give_up || is_ended_after(kBetweenLooks)) return;
  }
}

bool GiftWriter::is_ended_after(std::chrono::milliseconds pause) {
  std::unique_lock lock(mutex_);
  return arrived_.wait_for(lock, pause, [this] { return stopping_; });
}

void GiftWriter::run() {
  for (std::vector<Seat*> group = next_group(); !group.empty(); group = next_group()) write(group);
}

}  // namespace giftsync::daemon
