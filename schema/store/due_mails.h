// schema/store: which mails are due, in the order in which they should be sent. Included by this folder's
// .cpp files and their tests only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "schema/sql/database.h"

namespace giftsync::schema::store {

/// Rows with pending work whose lease has expired.
inline std::string due_deliveries(sql::Dialect dialect, const std::string& condition, std::size_t limit) {
  return "SELECT transaction_id FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         condition + " AND lease_until < " + std::string(sql::database_now(dialect)) +
         " ORDER BY turn, next_attempt_at, transaction_id LIMIT " + std::to_string(limit);
}

/// The mails that were tried before, not below the floor (claim_floor.h).
inline std::string retries_from(std::optional<platform::UtcMillis> floor) {
  return "turn = 0" + (floor ? " AND next_attempt_at >= " + std::to_string(floor->value) : std::string());
}

/// The mails that were never tried, not below the floor.
inline std::string first_attempts_from(std::optional<std::int64_t> floor) {
  return floor && *floor > 1 ? "turn >= " + std::to_string(*floor) : "turn > 0";
}

/// Mails that were tried before, the first due one first.
inline std::string due_retries(sql::Dialect dialect, std::size_t limit,
                               std::optional<platform::UtcMillis> floor = std::nullopt) {
  return due_deliveries(dialect, retries_from(floor) + " AND next_attempt_at <= :now", limit);
}

/// Mails that were never tried are due at once, in the order of their turns.
inline std::string due_first_attempts(sql::Dialect dialect, std::size_t limit,
                                      std::optional<std::int64_t> floor = std::nullopt) {
  return due_deliveries(dialect, first_attempts_from(floor), limit);
}

/// The mail whose due time is the smallest.
inline std::string smallest_retry(std::optional<platform::UtcMillis> floor) {
  return "SELECT next_attempt_at FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         retries_from(floor) + " ORDER BY turn, next_attempt_at, transaction_id LIMIT 1";
}

inline std::string lowest_turn(std::optional<std::int64_t> floor) {
  return "SELECT turn FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         first_attempts_from(floor) + " ORDER BY turn, next_attempt_at, transaction_id LIMIT 1";
}

}  // namespace giftsync::schema::store
