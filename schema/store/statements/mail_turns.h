// schema/store: the turn of a new request's first mail, so that requests and accounts take turns and a large
// campaign holds up no other (MAIL-29): start-time fair queueing. The position of service is the lowest turn
// that waits; a request begins there, one place behind the account's last request, and each of its mails has
// the next turn. While nothing waits, turns follow the clock, so that all processes agree. A request waits
// for no query here: the delivery worker refreshes the position. Turns are near the clock, or of mails that
// wait; so the claims of first attempts have a floor among the turns as others have among times (ARCH-44).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/sql/dsn.h"
#include "schema/store/statements/claim_floor.h"

namespace giftsync::sql {
class Database;
}

namespace giftsync::store {

/// The rule, without a database. Not thread-safe.
class TurnSequence {
 public:
  /// `lowest_waiting`: the lowest turn of a mail that was never tried; none when nothing waits.
  void serve(std::optional<std::int64_t> lowest_waiting, UtcMillis now);
  /// The turn of the first mail of the account's next request; above 0.
  std::int64_t next(AccountId account);

 private:
  std::int64_t position_ = 1;
  std::unordered_map<std::int64_t, std::int64_t> next_of_account_;  ///< no entry behind position_ is needed
};

/// Any thread.
class MailTurns {
 public:
  explicit MailTurns(std::shared_ptr<sql::Database> database);
  /// `now`: the time of the request. Reads the position of service only when this process never read it. A
  /// database error throws DependencyError.
  std::int64_t first_turn(AccountId account, UtcMillis now);
  /// Reads the position of service, once a second at most.
  void refresh(UtcMillis now);
  /// The turn from which a claim reads; nullopt: from the beginning.
  std::optional<std::int64_t> claim_floor(UtcMillis now);
  /// Mails that were claimed.
  void count_claimed(std::size_t mails) { floor_.count(mails); }

 private:
  std::optional<std::int64_t> read_lowest(std::optional<std::int64_t> floor);
  bool is_read_since(UtcMillis now);

  const std::shared_ptr<sql::Database> database_;
  ClaimLowerBound floor_;
  std::mutex mutex_;
  TurnSequence sequence_;             // guarded by mutex_
  std::optional<UtcMillis> read_at_;  // guarded by mutex_
};

// Which mails are due, in the order in which they should be sent. Included by this folder's
// .cpp files and their tests only.

/// Rows with pending work whose lease has expired.
std::string due_deliveries(sql::Dialect dialect, const std::string& condition, std::size_t limit);

/// The mails that were tried before, not below the floor (claim_floor.h).
inline std::string retries_from(std::optional<UtcMillis> floor) {
  return "turn = 0" + (floor ? " AND next_attempt_at >= " + std::to_string(floor->value) : std::string());
}

/// The mails that were never tried, not below the floor.
inline std::string first_attempts_from(std::optional<std::int64_t> floor) {
  return floor && *floor > 1 ? "turn >= " + std::to_string(*floor) : "turn > 0";
}

/// Mails that were tried before, the first due one first.
inline std::string due_retries(sql::Dialect dialect, std::size_t limit,
                               std::optional<UtcMillis> floor = std::nullopt) {
  return due_deliveries(dialect, retries_from(floor) + " AND next_attempt_at <= :now", limit);
}

/// Mails that were never tried are due at once, in the order of their turns.
inline std::string due_first_attempts(sql::Dialect dialect, std::size_t limit,
                                      std::optional<std::int64_t> floor = std::nullopt) {
  return due_deliveries(dialect, first_attempts_from(floor), limit);
}

/// The mail whose due time is the smallest.
inline std::string smallest_retry(std::optional<UtcMillis> floor) {
  return "SELECT next_attempt_at FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         retries_from(floor) + " ORDER BY turn, next_attempt_at, transaction_id LIMIT 1";
}

inline std::string lowest_turn(std::optional<std::int64_t> floor) {
  return "SELECT turn FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         first_attempts_from(floor) + " ORDER BY turn, next_attempt_at, transaction_id LIMIT 1";
}

}  // namespace giftsync::store
