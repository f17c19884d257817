#include "platform/trusted_clock.h"

#include <spdlog/spdlog.h>

#include "platform/clock.h"

namespace giftsync::platform {
std::optional<UtcMillis> TrustedClock::now() {
  const std::lock_guard lock(mutex_);
  const UtcMillis wall = system_now();
  const ClockJumpDetector::Decision decision = detector_.observe(wall, boottime_millis());
  if (!decision.log_line.empty()) spdlog::warn("{}", decision.log_line);
  return decision.may_act ? std::optional(wall) : std::nullopt;
}

}  // namespace giftsync::platform
