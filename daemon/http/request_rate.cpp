#include "daemon/http/request_rate.h"

namespace giftsync::daemon {

RequestRate::Count RequestRate::count(std::int64_t caller) {
  if (requests_per_minute_ == 0) return {};
  const std::int64_t now = clock_().value;
  const std::int64_t minute = now / schema::kMinuteMillis;
  const std::lock_guard lock(mutex_);
  Window& window = windows_[caller];
  if (window.minute != minute) window = {minute, 0};
  const bool is_over = window.used >= requests_per_minute_;
  if (!is_over) ++window.used;
  const std::int64_t left_millis = schema::kMinuteMillis - now % schema::kMinuteMillis;
  return {RateLimit{requests_per_minute_, requests_per_minute_ - window.used, (left_millis + 999) / 1000},
          is_over};
}

}  // namespace giftsync::daemon
