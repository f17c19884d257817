#include "platform/trusted_clock.h"

#include <spdlog/spdlog.h>

#include <ctime>

#include "platform/clock.h"

namespace giftsync::platform {
namespace {

/// Time since boot, including sleep.
std::int64_t boottime_millis() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * kSecondMillis + now.tv_nsec / 1'000'000;
}

}  // namespace

std::optional<UtcMillis> TrustedClock::now() {
  const std::lock_guard lock(mutex_);
  const UtcMillis wall = system_now();
  const ClockJumpDetector::Decision decision = detector_.observe(wall, boottime_millis());
  if (!decision.log_line.empty()) spdlog::warn("{}", decision.log_line);
  return decision.may_act ? std::optional(wall) : std::nullopt;
}

}  // namespace giftsync::platform
