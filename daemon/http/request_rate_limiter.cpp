#include "daemon/http/request_rate_limiter.h"

namespace giftsync::http {

Reply RequestRateLimiter::handle_limited(std::int64_t caller, const std::function<Reply()>& handle) {
  if (requests_per_minute_ == 0) return handle();
  const auto count = limiter_.count(caller, clock_());
  const RateLimitStatus rate{requests_per_minute_, count.remaining, count.reset_seconds};
  if (count.is_exceeded) return rate_limited(rate);
  return handle().changed([rate](const Reply::Finish& finish) {
    HttpResponse response = finish();
    add_rate_limit_headers(response, rate);
    return response;
  });
}

}  // namespace giftsync::http
