// daemon/http: the Idempotency-Keys whose first request is being worked on right now in this daemon: a second
// request with one of them is told so (409) instead of being held up. Any thread.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <utility>

namespace giftsync::daemon {

class KeysAtWork {
 public:
  /// Frees the key when it goes out of scope.
  class Hold {
   public:
    Hold() = default;
    Hold(KeysAtWork* keys, std::string key) : keys_(keys), key_(std::move(key)) {}
    Hold(Hold&& other) noexcept : keys_(std::exchange(other.keys_, nullptr)), key_(std::move(other.key_)) {}
    Hold& operator=(Hold&&) = delete;
    ~Hold() {
      if (keys_) keys_->free(key_);
    }
    explicit operator bool() const { return keys_ != nullptr; }

   private:
    KeysAtWork* keys_ = nullptr;
    std::string key_;
  };

  /// An empty hold when the key is taken.
  Hold take(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return taken_.insert(key).second ? Hold(this, key) : Hold();
  }

 private:
  void free(const std::string& key) {
    const std::lock_guard lock(mutex_);
    taken_.erase(key);
  }
  std::mutex mutex_;
  std::set<std::string> taken_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
