// schema/store: counts for whoever wants to know how it stands, gathered at one look. They go over whole
// tables or indexes: for a person's command, not for a loop.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "schema/database_address.h"
#include "schema/store/request_book.h"
#include "schema/time.h"

namespace giftsync::schema {

struct StoreGlance {
  std::array<std::int64_t, kAllRequestStates.size()> requests{};  ///< by state; deleted ones are not counted
  std::int64_t requests_in_error = 0;  ///< of those not sent or rejected, with an Error Log
  std::string request_in_error;        ///< the Request Number of the last of them
  std::string request_error;           ///< and its Error Log
  std::int64_t due_soon = 0;           ///< gifts that a timer is to look at, for a deadline or a reminder
  std::optional<UtcMillis> next_due;
};

/// `soon`: until when a timer's look at a gift is soon.
StoreGlance store_glance(const DatabaseAddress& address, UtcMillis soon);

}  // namespace giftsync::schema
