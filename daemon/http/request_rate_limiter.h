// daemon/http: limits the requests of a caller per minute (limits.requests_per_minute, HTTP-10). A caller is
// the number of an API key or of an organization. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "daemon/http/problem.h"
#include "daemon/http/reply.h"
#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"

namespace giftsync::http {

class RequestRateLimiter {
 public:
  /// `requests_per_minute`: 0 for no limit.
  RequestRateLimiter(std::int64_t requests_per_minute, giftsync::Clock clock)
      : requests_per_minute_(requests_per_minute),
        clock_(std::move(clock)),
        limiter_(requests_per_minute, kMinuteMillis, kMaxCallers) {}

  /// The response of `handle` with the rate-limit headers, or 429 when this request is beyond the limit.
  Reply handle_limited(std::int64_t caller, const std::function<Reply()>& handle);

 private:
  static constexpr std::size_t kMaxCallers = 1'000'000;

  const std::int64_t requests_per_minute_;
  const giftsync::Clock clock_;
  FixedWindowLimiter<std::int64_t> limiter_;
};

// The Idempotency-Keys whose first request this daemon is handling now. A second request with
// such a key gets 409 instead of waiting (HTTP-33). Any thread.

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

}  // namespace giftsync::http
