// schema: time is UTC milliseconds since 1970; text is RFC 3339. Nobody here reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync::schema {

struct UtcMillis {
  std::int64_t value = 0;
  friend auto operator<=>(const UtcMillis&, const UtcMillis&) = default;
};

inline constexpr std::int64_t kSecondMillis = 1000;
inline constexpr std::int64_t kMinuteMillis = 60 * kSecondMillis;
inline constexpr std::int64_t kHourMillis = 60 * kMinuteMillis;
inline constexpr std::int64_t kDayMillis = 24 * kHourMillis;

constexpr UtcMillis operator+(UtcMillis time, std::int64_t millis) {
  return {time.value + millis};
}
constexpr UtcMillis operator-(UtcMillis time, std::int64_t millis) {
  return {time.value - millis};
}

/// Whether so many milliseconds have gone by; also when the clock was put back since: what happens at most
/// once in a while would wait for it.
constexpr bool is_over(UtcMillis since, std::int64_t millis, UtcMillis now) {
  return now < since || now >= since + millis;
}

/// Less than a second apart: what a CRM that keeps whole seconds, cut or rounded, makes of a time.
constexpr bool are_within_a_second(UtcMillis one, UtcMillis other) {
  return one < other + kSecondMillis && other < one + kSecondMillis;
}

/// "2026-11-21T12:31:07.042Z": always UTC, always three decimals, so that text order is time order.
std::string to_rfc3339(UtcMillis time);

/// Reads RFC 3339 (a zone is required, "t"/"z" and any number of decimals are taken, decimals past the third
/// are cut, a leap second counts as the next second). Empty when the text is anything else or before year 1.
std::optional<UtcMillis> from_rfc3339(std::string_view text);

}  // namespace giftsync::schema
