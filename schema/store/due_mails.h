// schema/store: which mails are due, in the order in which they should be sent. Included by this folder's
// .cpp files and their tests only.
#pragma once

#include <cstddef>
#include <string>

#include "schema/sql/database.h"

namespace giftsync::schema::store {

/// Rows with pending work whose lease has expired.
inline std::string due_deliveries(sql::Dialect dialect, const std::string& condition, std::size_t limit) {
  return "SELECT transaction_id FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         condition + " AND lease_until < " + std::string(sql::database_now(dialect)) +
         " ORDER BY turn, next_attempt_at, transaction_id LIMIT " + std::to_string(limit);
}

/// Mails that were tried before, the first due one first.
inline std::string due_retries(sql::Dialect dialect, std::size_t limit) {
  return due_deliveries(dialect, "turn = 0 AND next_attempt_at <= :now", limit);
}

/// Mails that were never tried are due at once, in the order of their turns.
inline std::string due_first_attempts(sql::Dialect dialect, std::size_t limit) {
  return due_deliveries(dialect, "turn > 0", limit);
}

}  // namespace giftsync::schema::store
