// daemon/http: how many requests a caller may make in a minute (limits.requests_per_minute). Callers are told
// apart by a number: of an API key, or of an organization. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "daemon/clock.h"
#include "daemon/http/problem.h"

namespace giftsync::daemon {

class RequestRate {
 public:
  /// `requests_per_minute`: 0 for no limit.
  RequestRate(std::int64_t requests_per_minute, Clock clock)
      : requests_per_minute_(requests_per_minute), clock_(std::move(clock)) {}

  struct Count {
    std::optional<RateLimit> rate;  ///< for the answer's headers; nullopt without a limit
    bool is_over = false;           ///< this request is one too many
  };
  Count count(std::int64_t caller);

 private:
  struct Window {
    std::int64_t minute = 0;
    std::int64_t used = 0;
  };

  const std::int64_t requests_per_minute_;
  const Clock clock_;
  std::mutex mutex_;
  std::map<std::int64_t, Window> windows_;  // guarded by mutex_
};

}  // namespace giftsync::daemon
