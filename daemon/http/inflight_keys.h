// daemon/http: the Idempotency-Keys whose first request this daemon is handling now. A second request with
// such a key gets 409 instead of waiting (HTTP-33). Any thread.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace giftsync::daemon::http {

class InflightKeys {
 public:
  /// Releases the key when its last copy is destroyed.
  using Guard = std::shared_ptr<void>;

  /// Null when the key is in use.
  Guard try_acquire(const std::string& key) {
    {
      const std::lock_guard lock(mutex_);
      if (!keys_.insert(key).second) return nullptr;
    }
    return {this, [this, key](void*) {
              const std::lock_guard release_lock(mutex_);
              keys_.erase(key);
            }};
  }

 private:
  std::mutex mutex_;
  std::set<std::string> keys_;  // guarded by mutex_
};

}  // namespace giftsync::daemon::http
