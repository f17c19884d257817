#include "platform/clock_jump_detector.h"

#include <fmt/format.h>

#include <cstdlib>

namespace giftsync::platform {
namespace {

/// "50 days 2 h 10 min"
std::string format_duration(std::int64_t millis) {
  const std::int64_t days = millis / kDayMillis;
  const std::int64_t hours = millis % kDayMillis / kHourMillis;
  const std::int64_t minutes = millis % kHourMillis / kMinuteMillis;
  return fmt::format("{}{} h {} min", days > 0 ? fmt::format("{} days ", days) : "", hours, minutes);
}

}  // namespace

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
  return {false, fmt::format("the clock jumped ahead by {}: nothing expires or is refunded before {}, unless "
                             "it is corrected",
                             format_duration(doubt.ahead_millis), to_rfc3339(wall + kStableMillis))};
}

}  // namespace giftsync::platform
