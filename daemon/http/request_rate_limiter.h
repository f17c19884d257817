// daemon/http: limits the requests of a caller per minute (limits.requests_per_minute, HTTP-10). A caller is
// the number of an API key or of an organization. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "daemon/http/problem.h"
#include "daemon/http/reply.h"
#include "platform/clock.h"
#include "platform/fixed_window_limiter.h"

namespace giftsync::daemon::http {

class RequestRateLimiter {
 public:
  /// `requests_per_minute`: 0 for no limit.
  RequestRateLimiter(std::int64_t requests_per_minute, platform::Clock clock)
      : requests_per_minute_(requests_per_minute),
        clock_(std::move(clock)),
        limiter_(requests_per_minute, platform::kMinuteMillis, kMaxCallers) {}

  /// The response of `handle` with the rate-limit headers, or 429 when this request is beyond the limit.
  Reply handle_limited(std::int64_t caller, const std::function<Reply()>& handle);

 private:
  static constexpr std::size_t kMaxCallers = 1'000'000;

  const std::int64_t requests_per_minute_;
  const platform::Clock clock_;
  platform::FixedWindowLimiter<std::int64_t> limiter_;
};

}  // namespace giftsync::daemon::http
