// platform: counts events of each key in a fixed window and limits them. A key's window begins with its first
// event. The number of keys is bounded: at the bound keys whose window has ended are dropped, and if none has
// ended, all keys. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "platform/time.h"

namespace giftsync {

template <class Key>
class FixedWindowLimiter {
 public:
  /// Allows `limit` events in `window_millis`; remembers at most `max_keys` keys.
  FixedWindowLimiter(std::int64_t limit, std::int64_t window_millis, std::size_t max_keys)
      : limit_(limit), window_millis_(window_millis), max_keys_(max_keys) {}

  struct Count {
    bool is_exceeded = false;        ///< this event is beyond the limit
    std::int64_t remaining = 0;      ///< in this window
    std::int64_t reset_seconds = 0;  ///< until the window ends, rounded up
  };
  Count count(const Key& key, UtcMillis now) {
    const std::lock_guard lock(mutex_);
    if (windows_.size() >= max_keys_ && !windows_.contains(key)) drop_ended(now);
    Window& window = windows_[key];
    if (window.used == 0 || has_elapsed(window.since, window_millis_, now)) window = {now, 0};
    const bool is_exceeded = window.used >= limit_;
    if (!is_exceeded) ++window.used;
    return {is_exceeded, limit_ - window.used,
            (window.since.value + window_millis_ - now.value + kSecondMillis - 1) / kSecondMillis};
  }

 private:
  struct Window {
    UtcMillis since;
    std::int64_t used = 0;
  };

  void drop_ended(UtcMillis now) {
    std::erase_if(windows_,
                  [&](const auto& one) { return has_elapsed(one.second.since, window_millis_, now); });
    if (windows_.size() >= max_keys_) windows_.clear();
  }

  const std::int64_t limit_;
  const std::int64_t window_millis_;
  const std::size_t max_keys_;
  std::mutex mutex_;
  std::map<Key, Window> windows_;  // guarded by mutex_
};

}  // namespace giftsync
