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
  Seat seat{std::move(request), {}, nullptr};
  {
    const std::lock_guard lock(mutex_);
    if (stopping_ || waiting_.size() >= kMostWaiting) return std::nullopt;
    waiting_.push_back(&seat);
  }
  arrived_.notify_one();
  seat.done.acquire();
  if (seat.fault) std::rethrow_exception(seat.fault);
  return std::move(seat.outcome);
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
  std::vector<schema::NewGiftRequest> requests;
  requests.reserve(group.size());
  for (Seat* seat : group) requests.push_back(std::move(seat->request));
  std::exception_ptr fault;
  std::vector<schema::CreateOutcome> outcomes;
  try {
    outcomes = ledger_.create(requests);
  } catch (...) {
    fault = std::current_exception();
  }
  for (std::size_t i = 0; i < group.size(); ++i) {
    group[i]->fault = fault;
    if (!fault) group[i]->outcome = std::move(outcomes[i]);
    group[i]->done.release();  // the seat may be gone from here on
  }
}

void GiftWriter::run() {
  for (std::vector<Seat*> group = next_group(); !group.empty(); group = next_group()) write(group);
}

}  // namespace giftsync::daemon
