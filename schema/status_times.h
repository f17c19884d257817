// schema: the one time that a transaction has for each status (STATUS-2).
#pragma once

#include <array>
#include <optional>

#include "platform/time.h"
#include "schema/enums.h"

namespace giftsync::schema {

class StatusTimes {
 public:
  std::optional<platform::UtcMillis>& operator[](Status status) {
    return times_[static_cast<std::size_t>(status)];
  }
  const std::optional<platform::UtcMillis>& operator[](Status status) const {
    return times_[static_cast<std::size_t>(status)];
  }
  friend bool operator==(const StatusTimes&, const StatusTimes&) = default;

 private:
  std::array<std::optional<platform::UtcMillis>, kAllStatuses.size()> times_;
};

}  // namespace giftsync::schema
