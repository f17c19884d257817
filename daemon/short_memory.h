// daemon: remembers answers of the store for half a second, so that a busy endpoint does not ask for the same
// key and item with every request, and a revoke or an import still takes effect within a second. Any thread.
#pragma once

#include <functional>
#include <memory>
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

  /// What `look` says, or said less than kLifeMillis ago; null when there is none. While one thread looks
  /// again the others go on with the old answer for a moment, so that a busy store is not asked by all at
  /// once. Absent answers are not remembered: guesses must not fill the memory, and what was just created
  /// must be found at once.
  std::shared_ptr<const Value> get(const Key& key) {
    const schema::UtcMillis now = clock_();
    {
      const std::lock_guard lock(mutex_);
      const auto known = memory_.find(key);
      if (known != memory_.end() && may_use(known->second, now)) return known->second.value;
    }
    std::optional<Value> fresh = look_(key);
    auto value = fresh ? std::make_shared<const Value>(std::move(*fresh)) : nullptr;
    const std::lock_guard lock(mutex_);
    if (memory_.size() >= kMostEntries) memory_.clear();
    if (value) {
      memory_.insert_or_assign(key, Entry{value, now, false});
    } else {
      memory_.erase(key);
    }
    return value;
  }

 private:
  static constexpr std::int64_t kLifeMillis = 500;
  static constexpr std::size_t kMostEntries = 10'000;
  static constexpr std::int64_t kGraceMillis = 300;  // with kLifeMillis below the promised second
  struct Entry {
    std::shared_ptr<const Value> value;
    schema::UtcMillis since;
    bool is_looked_up = false;
  };
  /// The first caller who finds an entry too old is sent to look.
  static bool may_use(Entry& entry, schema::UtcMillis now) {
    // The age must not be negative: a clock set back would keep an old answer for ever.
    if (now < entry.since || now >= entry.since + kLifeMillis + kGraceMillis) return false;
    if (now < entry.since + kLifeMillis || entry.is_looked_up) return true;
    entry.is_looked_up = true;
    return false;
  }

  const Clock clock_;
  const Look look_;
  std::mutex mutex_;
  std::unordered_map<Key, Entry> memory_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
