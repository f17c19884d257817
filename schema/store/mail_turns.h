// schema/store: the turn of a new request's first mail, so that requests and accounts take turns and a large
// campaign holds up no other (MAIL-29): start-time fair queueing. The position of service is the lowest turn
// that waits; a request begins there, one place behind the account's last request, and each of its mails has
// the next turn. While nothing waits, turns follow the clock, so that all processes agree. A request waits
// for no query here: the delivery worker refreshes the position. Turns are near the clock, or of mails that
// wait; so the claims of first attempts have a floor among the turns as others have among times (ARCH-44).
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "platform/time.h"
#include "schema/ids.h"
#include "schema/store/claim_floor.h"

namespace giftsync::schema::sql {
class Database;
}

namespace giftsync::schema::store {

/// The rule, without a database. Not thread-safe.
class TurnSequence {
 public:
  /// `lowest_waiting`: the lowest turn of a mail that was never tried; none when nothing waits.
  void serve(std::optional<std::int64_t> lowest_waiting, platform::UtcMillis now);
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
  std::int64_t first_turn(AccountId account, platform::UtcMillis now);
  /// Reads the position of service, once a second at most.
  void refresh(platform::UtcMillis now);
  /// The turn from which a claim reads; nullopt: from the beginning.
  std::optional<std::int64_t> claim_floor(platform::UtcMillis now);
  /// Mails that were claimed.
  void count_claimed(std::size_t mails) { floor_.count(mails); }

 private:
  std::optional<std::int64_t> read_lowest(std::optional<std::int64_t> floor);
  bool is_read_since(platform::UtcMillis now);

  const std::shared_ptr<sql::Database> database_;
  ClaimFloor floor_;
  std::mutex mutex_;
  TurnSequence sequence_;                       // guarded by mutex_
  std::optional<platform::UtcMillis> read_at_;  // guarded by mutex_
};

}  // namespace giftsync::schema::store
