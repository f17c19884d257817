// platform: caches query results of the store for half a second, so a busy endpoint does not query the same
// key and item for every request, and a revoke or an import still takes effect within a second. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "platform/clock.h"

namespace giftsync {

template <class Key, class Value>
class TtlCache {
 public:
  using Loader = std::function<std::optional<Value>(const Key&)>;

  TtlCache(Clock clock, Loader load) : clock_(std::move(clock)), load_(std::move(load)) {}

  /// The result of `load`, at most kTtlMillis old; null when there is none. While one thread reloads, the
  /// others use the old value for up to kStaleMillis more, so they do not all query a busy store. Absent
  /// values are not cached: guesses must not fill the memory, and a new row must be found at once.
  std::shared_ptr<const Value> get(const Key& key) {
    const UtcMillis now = clock_();
    {
      const std::lock_guard lock(mutex_);
      const auto found = entries_.find(key);
      if (found != entries_.end() && is_usable(found->second, now)) return found->second.value;
    }
    std::optional<Value> fresh = load_(key);
    auto value = fresh ? std::make_shared<const Value>(std::move(*fresh)) : nullptr;
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= kMaxEntries) entries_.clear();
    if (value) {
      entries_.insert_or_assign(key, Entry{value, now, false});
    } else {
      entries_.erase(key);
    }
    return value;
  }

 private:
  static constexpr std::int64_t kTtlMillis = 500;
  static constexpr std::size_t kMaxEntries = 10'000;
  static constexpr std::int64_t kStaleMillis = 300;  // kTtlMillis + kStaleMillis stay below one second
  struct Entry {
    std::shared_ptr<const Value> value;
    UtcMillis loaded_at;
    bool is_refreshing = false;
  };
  /// The first caller that finds an expired entry reloads it.
  static bool is_usable(Entry& entry, UtcMillis now) {
    // The age must not be negative: after the clock is set back an old value would stay for ever.
    if (now < entry.loaded_at || now >= entry.loaded_at + kTtlMillis + kStaleMillis) return false;
    if (now < entry.loaded_at + kTtlMillis || entry.is_refreshing) return true;
    entry.is_refreshing = true;
    return false;
  }

  const Clock clock_;
  const Loader load_;
  std::mutex mutex_;
  std::unordered_map<Key, Entry> entries_;  // guarded by mutex_
};

}  // namespace giftsync
