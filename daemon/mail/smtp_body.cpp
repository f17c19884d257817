#include "daemon/mail/smtp_body.h"

#include <algorithm>
#include <ctime>
#include <utility>

namespace giftsync::daemon {

std::int64_t boot_millis() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

SmtpBody::SmtpBody(std::string_view bytes, std::int64_t deadline_millis, LeaseClock clock)
    : rest_(bytes), deadline_millis_(deadline_millis), clock_(std::move(clock)) {}

std::optional<std::size_t> SmtpBody::read(char* buffer, std::size_t size) {
  if (lease_over_ || clock_() >= deadline_millis_) {
    lease_over_ = true;
    return std::nullopt;
  }
  const std::size_t taken = std::min(size, rest_.size());
  std::copy_n(rest_.begin(), taken, buffer);
  rest_.remove_prefix(taken);
  return taken;
}

}  // namespace giftsync::daemon
