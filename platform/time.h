// platform: time is UTC milliseconds since 1970; text is RFC 3339. No function here reads a clock.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace giftsync {

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

/// Whether `millis` have passed since `since`. Also true when the clock was set back before `since`;
/// otherwise a periodic action would wait until the clock catches up.
constexpr bool has_elapsed(UtcMillis since, std::int64_t millis, UtcMillis now) {
  return now < since || now >= since + millis;
}

/// Less than a second apart: CRMs that store whole seconds cut or round times.
constexpr bool are_within_a_second(UtcMillis one, UtcMillis other) {
  return one < other + kSecondMillis && other < one + kSecondMillis;
}

/// "2026-11-21T12:31:07.042Z": always UTC, always three decimals, so that text order is time order.
std::string to_rfc3339(UtcMillis time);
/// "2026-11-21 12:31" in UTC.
std::string minute_text(UtcMillis time);

/// Parses RFC 3339. A zone is required; "t"/"z" and any number of decimals are accepted, decimals after the
/// third are cut, a leap second counts as the next second. Empty for other text or outside years 1 to 9999.
std::optional<UtcMillis> from_rfc3339(std::string_view text);

// Times as others write them (READ-4). Pure.

/// What from_rfc3339() parses, and the other unambiguous spellings of ISO 8601: an offset without colon or
/// minutes, no seconds, a decimal comma, 24:00:00 for the end of a day, the basic format
/// (20261121T123107Z), and a blank before the offset. A zone is required.
std::optional<UtcMillis> from_iso8601(std::string_view text);

}  // namespace giftsync
