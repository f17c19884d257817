#include "daemon/mail/bounded_body.h"

#include <algorithm>
#include <utility>

namespace giftsync::daemon::mail {

BoundedBody::BoundedBody(std::string_view bytes, std::int64_t deadline_millis, LeaseClock clock)
    : remaining_(bytes), deadline_millis_(deadline_millis), clock_(std::move(clock)) {}

std::optional<std::size_t> BoundedBody::read(char* buffer, std::size_t size) {
  if (lease_over_ || clock_() >= deadline_millis_) {
    lease_over_ = true;
    return std::nullopt;
  }
  const std::size_t count = std::min(size, remaining_.size());
  std::copy_n(remaining_.begin(), count, buffer);
  remaining_.remove_prefix(count);
  return count;
}

}  // namespace giftsync::daemon::mail
