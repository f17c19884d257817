#include "sync/calendar_day.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

namespace giftsync::sync {
namespace {

/// The library also accepts paths and names of its own ("libc:localtime").
bool is_iana_name(const std::string& name) {
  constexpr const char* kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
  return !name.empty() && name.size() <= 64 && name.find_first_not_of(kAllowed) == std::string::npos &&
         name.front() != '/' && !name.starts_with("Fixed/");
}

/// A zone's file is read once; the library caches it.
bool load(const std::string& name, absl::TimeZone& zone) {
  return is_iana_name(name) && absl::LoadTimeZone(name, &zone);
}

}  // namespace

bool is_time_zone(const std::string& name) {
  absl::TimeZone zone;
  return load(name, zone);
}

platform::UtcMillis start_of_day_next_month(const std::string& zone_name, platform::UtcMillis time, int day) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (!load(zone_name, zone)) zone = absl::UTCTimeZone();
  const absl::CivilMonth month(absl::ToCivilMonth(absl::FromUnixMillis(time.value), zone) + 1);
  const absl::CivilDay wanted(month.year(), month.month(), day);
  const absl::TimeZone::TimeInfo begins = zone.At(absl::CivilSecond(wanted));
  const bool is_skipped = begins.kind == absl::TimeZone::TimeInfo::SKIPPED;
  return {absl::ToUnixMillis(is_skipped ? begins.trans : begins.pre)};
}

}  // namespace giftsync::sync
