#include "daemon/timer_clock.h"

#include <spdlog/spdlog.h>

#include <ctime>

#include "daemon/clock.h"

namespace giftsync::daemon {
namespace {

/// Since the machine started; the time it slept counts.
std::int64_t millis_since_boot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * schema::kSecondMillis + now.tv_nsec / 1'000'000;
}

}  // namespace

std::optional<schema::UtcMillis> TimerClock::now() {
  const std::lock_guard lock(mutex_);
  const schema::UtcMillis wall = system_now();
  const TimerGuard::Verdict verdict = guard_.look(wall, millis_since_boot());
  if (!verdict.news.empty()) spdlog::warn("{}", verdict.news);
  return verdict.may_act ? std::optional(wall) : std::nullopt;
}

}  // namespace giftsync::daemon
