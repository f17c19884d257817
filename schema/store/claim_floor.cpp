#include "schema/store/claim_floor.h"

#include <algorithm>

namespace giftsync::schema::store {

std::optional<platform::UtcMillis> ClaimFloor::find(platform::UtcMillis now, const ReadSmallest& read) {
  const std::lock_guard lock(mutex_);
  if (rows_ < kManyRows) return std::nullopt;
  // Also when the clock was set back.
  const bool is_whole = !floor_ || now < look_at_ || now.value - whole_look_at_.value >= kWholeLookMillis;
  if (is_whole || now.value - look_at_.value >= kLookMillis) {
    const std::optional<platform::UtcMillis> smallest = read(is_whole ? std::nullopt : floor_);
    const platform::UtcMillis latest = now - kLateMillis;
    const platform::UtcMillis found = smallest ? std::min(*smallest, latest) : latest;
    floor_ = is_whole ? found : std::max(*floor_, found);
    if (is_whole) whole_look_at_ = now;
    look_at_ = now;
  }
  return floor_;
}

void ClaimFloor::count(std::size_t rows) {
  const std::lock_guard lock(mutex_);
  rows_ = std::min(kManyRows, rows_ + rows);
}

}  // namespace giftsync::schema::store
