// daemon: the waiting writes of one kind, in the order of their arrival, and the share of a group that each
// kind gets. Not thread-safe.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "schema/store/urgent_writes.h"

namespace giftsync::daemon {

/// A group has at most so many members, and members of one kind only until they have so many rows: a message
/// of a thousand changes must not make many others wait.
inline constexpr std::size_t kMaxGroupSize = 500;
inline constexpr std::size_t kMaxGroupRows = 5'000;

/// How many rows a write brings, about.
inline std::size_t rows_of(const schema::store::NewGiftRequest& request) {
  return std::max<std::size_t>(request.recipients.size(), 1);
}
inline std::size_t rows_of(const schema::store::InboundBatch& message) {
  return std::max<std::size_t>(message.items.size(), 1);
}
inline std::size_t rows_of(const schema::store::Decision&) {
  return 1;
}

template <class Member, class Outcome>
class WriteQueue {
 public:
  static constexpr std::size_t kMaxWaiting = 2'000;
  static constexpr std::size_t kMaxWaitingRows = 100'000;
  using Done = std::function<void(schema::store::Written<Outcome>)>;

  /// Members and their callers, in the same order.
  struct Part {
    std::vector<Member> members;
    std::vector<Done> callers;
  };

  /// False: too many are waiting. One that is alone is always taken.
  bool push(Member member, Done done) {
    const std::size_t rows = rows_of(member);
    if (waiting_.size() >= kMaxWaiting || (rows_ > 0 && rows_ + rows > kMaxWaitingRows)) return false;
    rows_ += rows;
    waiting_.push_back({std::move(member), std::move(done)});
    return true;
  }

  /// Removes the first ones, at most `limit`.
  Part take(std::size_t limit) {
    Part part;
    for (std::size_t rows = 0; part.members.size() < limit && !waiting_.empty() && rows < kMaxGroupRows;) {
      rows += rows_of(waiting_.front().first);
      rows_ -= rows_of(waiting_.front().first);
      part.members.push_back(std::move(waiting_.front().first));
      part.callers.push_back(std::move(waiting_.front().second));
      waiting_.pop_front();
    }
    return part;
  }

  bool empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

 private:
  std::deque<std::pair<Member, Done>> waiting_;
  std::size_t rows_ = 0;
};

/// How many of each kind a group takes when so many of each are waiting: the kinds get equal shares, and what
/// one does not need goes to the others (ARCH-22). Pure.
template <std::size_t kKinds>
std::array<std::size_t, kKinds> fair_shares(const std::array<std::size_t, kKinds>& waiting,
                                            std::size_t group_size) {
  std::array<std::size_t, kKinds> order{};
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return waiting[a] < waiting[b]; });
  std::array<std::size_t, kKinds> shares{};
  std::size_t left = group_size;
  for (std::size_t i = 0; i < kKinds; ++i) {
    shares[order[i]] = std::min(waiting[order[i]], left / (kKinds - i));
    left -= shares[order[i]];
  }
  return shares;
}

}  // namespace giftsync::daemon
