// schema: the one time that a transaction keeps for each status (design 3.1).
#pragma once

#include <array>
#include <optional>

#include "schema/time.h"
#include "schema/words.h"

namespace giftsync::schema {

class StatusTimes {
 public:
  std::optional<UtcMillis>& operator[](Status status) { return times_[static_cast<std::size_t>(status)]; }
  const std::optional<UtcMillis>& operator[](Status status) const {
    return times_[static_cast<std::size_t>(status)];
  }
  friend bool operator==(const StatusTimes&, const StatusTimes&) = default;

 private:
  std::array<std::optional<UtcMillis>, kAllStatuses.size()> times_;
};

}  // namespace giftsync::schema
