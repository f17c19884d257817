// daemon/http: the Idempotency-Keys whose first request this daemon is handling now. A second request with
// such a key gets 409 instead of waiting (HTTP-33). Any thread.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace giftsync::daemon::http {

class InflightKeys {
 public:
  /// Releases the key when it goes out of scope.
  class Guard {
   public:
    Guard() = default;
    Guard(InflightKeys* keys, std::string key) : keys_(keys), key_(std::move(key)) {}
    Guard(Guard&& other) noexcept : keys_(std::exchange(other.keys_, nullptr)), key_(std::move(other.key_)) {}
    Guard& operator=(Guard&&) = delete;
    ~Guard() {
      if (keys_) keys_->release(key_);
    }
    explicit operator bool() const { return keys_ != nullptr; }

   private:
    InflightKeys* keys_ = nullptr;
    std::string key_;
  };

  /// Returns an empty guard when the key is in use.
  Guard try_acquire(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return inflight_.insert(key).second ? Guard(this, key) : Guard();
  }

 private:
  void release(const std::string& key) {
    const std::lock_guard lock(mutex_);
    inflight_.erase(key);
  }
  std::mutex mutex_;
  std::set<std::string> inflight_;  // guarded by mutex_
};

}  // namespace giftsync::daemon::http
