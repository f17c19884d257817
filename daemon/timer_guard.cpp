#include "daemon/timer_guard.h"

#include <fmt/format.h>

#include <cstdlib>

namespace giftsync::daemon {
namespace {

/// "50 days 2 h 10 min"
std::string in_words(std::int64_t millis) {
  const std::int64_t days = millis / schema::kDayMillis;
  const std::int64_t hours = millis % schema::kDayMillis / schema::kHourMillis;
  const std::int64_t minutes = millis % schema::kHourMillis / schema::kMinuteMillis;
  return fmt::format("{}{} h {} min", days > 0 ? fmt::format("{} days ", days) : "", hours, minutes);
}

}  // namespace

TimerGuard::Verdict TimerGuard::look(schema::UtcMillis wall, std::int64_t unset_millis) {
  const std::int64_t step =
      last_ ? (wall.value - last_->wall.value) - (unset_millis - last_->unset_millis) : 0;
  last_ = Seen{wall, unset_millis};
  if (!doubt_ && step <= kJumpMillis) return {};
  Doubt doubt = doubt_.value_or(Doubt{});
  doubt.ahead_millis += step;
  if (doubt.ahead_millis <= kJumpMillis) {
    doubt_.reset();
    return {true, "the clock was put right: timers go on"};
  }
  const bool is_another_time = std::abs(step) > kJumpMillis;
  if (is_another_time) doubt.until_unset_millis = unset_millis + kStandsMillis;
  if (unset_millis >= doubt.until_unset_millis) {
    doubt_.reset();
    return {true, "the clock's new time has stood for an hour: timers go on by it"};
  }
  doubt_ = doubt;
  if (!is_another_time) return {false, {}};
  return {false, fmt::format("the clock jumped ahead by {}: nothing expires or is refunded before {}, unless "
                             "it is put right",
                             in_words(doubt.ahead_millis), schema::to_rfc3339(wall + kStandsMillis))};
}

}  // namespace giftsync::daemon
