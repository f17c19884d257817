// schema/store: counts for status reports, by index and bounded (bounded_count.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "platform/time.h"
#include "schema/sql/dsn.h"
#include "schema/store/crm/request_records.h"

namespace giftsync::store {

struct StoreStats {
  std::array<std::int64_t, kAllRequestRecordStates.size()>
      requests{};                      ///< by state; deleted ones are not counted
  std::int64_t requests_in_error = 0;  ///< of those not sent or rejected, with an Error Log
  std::string last_request_in_error;   ///< the Request Number of the last of them
  std::string request_error;           ///< and its Error Log
  std::int64_t due_until_horizon =
      0;  ///< gifts whose timer is due until the horizon, for a deadline or a reminder
  std::optional<UtcMillis> next_due;
  /// Gifts that were sent, or have one of the latest 20,000 changes, more than an hour after now.
  std::int64_t gifts_in_future = 0;
};

/// `soon`: the horizon for due timers.
StoreStats store_stats(const sql::Dsn& dsn, UtcMillis now, UtcMillis soon);

/// Gifts whose timer is due.
struct DueTimers {
  std::int64_t due = 0;           ///< until the time that was asked for
  std::optional<UtcMillis> next;  ///< when the first of all timers is due; null: there is none
};
DueTimers due_timers(const sql::Dsn& dsn, UtcMillis until);

/// The size of a database of PostgreSQL.
std::int64_t database_bytes(const sql::Dsn& dsn);

}  // namespace giftsync::store
