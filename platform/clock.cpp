#include "platform/clock.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

#include "platform/logging.h"

namespace giftsync {

UtcMillis system_now() {
  using namespace std::chrono;
  return {duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count()};
}

std::int64_t boottime_millis() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return std::int64_t{now.tv_sec} * kSecondMillis + now.tv_nsec / 1'000'000;
}

namespace {

/// "50 days 2 h 10 min"
std::string format_duration(std::int64_t millis) {
  const std::int64_t days = millis / kDayMillis;
  const std::int64_t hours = millis % kDayMillis / kHourMillis;
  const std::int64_t minutes = millis % kHourMillis / kMinuteMillis;
  return fmt::format("{}{} h {} min", days > 0 ? fmt::format("{} days ", days) : "", hours, minutes);
}

}  // namespace

std::string describe(const ClockDoubt& doubt) {
  return fmt::format(
      "the clock jumped ahead by {}: nothing expires or is refunded before {}, unless it is corrected",
      format_duration(doubt.ahead_millis), to_rfc3339(doubt.until));
}

ClockJumpDetector::Decision ClockJumpDetector::observe(UtcMillis wall, std::int64_t boottime_millis) {
  const std::int64_t step =
      last_ ? (wall.value - last_->wall.value) - (boottime_millis - last_->boottime_millis) : 0;
  last_ = Sample{wall, boottime_millis};
  if (!doubt_ && step <= kJumpMillis) return {};
  Doubt doubt = doubt_.value_or(Doubt{});
  doubt.ahead_millis += step;
  if (doubt.ahead_millis <= kJumpMillis) {
    doubt_.reset();
    return {true, "the clock was corrected: timers continue"};
  }
  const bool has_jumped_again = std::abs(step) > kJumpMillis;
  if (has_jumped_again) doubt.until_boottime_millis = boottime_millis + kStableMillis;
  if (boottime_millis >= doubt.until_boottime_millis) {
    doubt_.reset();
    return {true, "the clock's new time has been stable for an hour: timers use it"};
  }
  doubt_ = doubt;
  if (!has_jumped_again) return {false, {}};
  return {false, describe(*this->doubt())};
}

std::optional<ClockDoubt> ClockJumpDetector::doubt() const {
  if (!doubt_) return std::nullopt;
  return ClockDoubt{doubt_->ahead_millis,
                    last_->wall + (doubt_->until_boottime_millis - last_->boottime_millis)};
}

std::optional<UtcMillis> TrustedClock::now() {
  const std::lock_guard lock(mutex_);
  const UtcMillis wall = system_now();
  const ClockJumpDetector::Decision decision = detector_.observe(wall, boottime_millis());
  if (!decision.log_line.empty())
    log_event(decision.may_act ? LogEvent::clock_trusted : LogEvent::clock_doubted, decision.log_line);
  return decision.may_act ? std::optional(wall) : std::nullopt;
}

std::optional<ClockDoubt> TrustedClock::doubt() {
  const std::lock_guard lock(mutex_);
  return detector_.doubt();
}

}  // namespace giftsync
