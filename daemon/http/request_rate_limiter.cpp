#include "daemon/http/request_rate_limiter.h"

namespace giftsync::daemon::http {

RequestRateLimiter::Count RequestRateLimiter::count_request(std::int64_t caller) {
  if (requests_per_minute_ == 0) return {};
  const auto count = limiter_.count(caller, clock_());
  return {RateLimitStatus{requests_per_minute_, count.remaining, count.reset_seconds}, count.is_exceeded};
}

}  // namespace giftsync::daemon::http
