// schema/store: resets waiting times, that a wrong clock set too far in the future or that someone ends.
// Included by this folder's .cpp files only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "platform/time.h"
#include "schema/sql/database.h"
#include "schema/store/audit_log.h"

namespace giftsync::schema::store {

/// Which rows wait, and how to release them.
struct ScheduledRows {
  std::string_view table;
  std::string_view key;          ///< the table's primary key, of one column
  std::string condition;         ///< a condition with :latest that an index of the table serves
  std::string_view order;        ///< the order of that index; total
  std::string_view assignments;  ///< the assignments that release a row, with :now
};

/// Releases rows that wait beyond `latest`, which is not before `now`, in batches
/// (Database::write_in_batches); returns how many. Usually there are none, and no write lock is taken. Each
/// batch adds the event with the number of its own rows (CON-8).
std::int64_t reset_scheduled_after(sql::Database& database, const ScheduledRows& rows,
                                   platform::UtcMillis latest, platform::UtcMillis now,
                                   const std::optional<AuditEvent>& audit = {});

}  // namespace giftsync::schema::store
