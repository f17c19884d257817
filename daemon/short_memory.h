// daemon: remembers answers of the store for half a second, so that a busy endpoint does not ask for the same
// key and item with every request, and a revoke or an import still takes effect within a second. Any thread.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "daemon/clock.h"

namespace giftsync::daemon {

template <class Key, class Value>
class ShortMemory {
 public:
  using Look = std::function<std::optional<Value>(const Key&)>;

  ShortMemory(Clock clock, Look look) : clock_(std::move(clock)), look_(std::move(look)) {}

  /// What `look` says, or said less than kLifeMillis ago. Absent answers are not remembered: guesses must not
  /// fill the memory, and what was just created must be found at once.
  std::optional<Value> get(const Key& key) {
    const schema::UtcMillis now = clock_();
    {
      const std::lock_guard lock(mutex_);
      const auto known = memory_.find(key);
      // The age must not be negative: a clock set back would keep an old answer for ever.
      if (known != memory_.end() && now >= known->second.since && now < known->second.since + kLifeMillis) {
        return known->second.value;
      }
    }
    std::optional<Value> fresh = look_(key);
    const std::lock_guard lock(mutex_);
    if (memory_.size() >= kMostEntries) memory_.clear();
    if (fresh) {
      memory_.insert_or_assign(key, Entry{*fresh, now});
    } else {
      memory_.erase(key);
    }
    return fresh;
  }

 private:
  static constexpr std::int64_t kLifeMillis = 500;
  static constexpr std::size_t kMostEntries = 10'000;
  struct Entry {
    Value value;
    schema::UtcMillis since;
  };
  const Clock clock_;
  const Look look_;
  std::mutex mutex_;
  std::unordered_map<Key, Entry> memory_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
