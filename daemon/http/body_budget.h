// daemon/http: the memory that the bodies of requests may take together (HTTP-50). Any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

namespace giftsync::daemon::http {

class BodyBudget {
 public:
  static constexpr std::size_t kDefaultBytes = 32 * 1024 * 1024;
  /// Bodies up to this size do not count: a crowd of large bodies holds up no ordinary request.
  static constexpr std::size_t kFreeBytes = 16 * 1024;
  /// Beyond it the memory is given back to the system once all bodies have been handled.
  static constexpr std::size_t kCrowdBytes = 4 * 1024 * 1024;

  explicit BodyBudget(std::size_t max_bytes = kDefaultBytes) : max_bytes_(max_bytes) {}

  /// False: others use too much of it. Anything may be taken while nothing is used.
  [[nodiscard]] bool try_take(std::size_t bytes) {
    std::size_t used = used_.load();
    do {
      if (used > 0 && (used >= max_bytes_ || bytes > max_bytes_ - used)) return false;
    } while (!used_.compare_exchange_weak(used, used + bytes));
    if (used + bytes > kCrowdBytes) crowded_.store(true);
    return true;
  }
  /// True: a crowd is over.
  [[nodiscard]] bool give_back(std::size_t bytes) {
    return used_.fetch_sub(bytes) == bytes && crowded_.load() && crowded_.exchange(false);
  }

 private:
  const std::size_t max_bytes_;
  std::atomic<std::size_t> used_{0};
  std::atomic<bool> crowded_{false};
};

}  // namespace giftsync::daemon::http
