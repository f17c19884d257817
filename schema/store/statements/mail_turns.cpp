#include "schema/store/statements/mail_turns.h"

#include <algorithm>
#include <utility>

#include "schema/sql/queries.h"

namespace giftsync::store {
namespace {

constexpr std::size_t kMaxAccounts = 10'000;

}  // namespace

void TurnSequence::serve(std::optional<std::int64_t> lowest_waiting, UtcMillis now) {
  // Also back to the clock: behind turns that once ran ahead of it, other processes' requests overtake.
  position_ = lowest_waiting.value_or(now.value);
  if (next_of_account_.size() <= kMaxAccounts) return;
  std::erase_if(next_of_account_, [this](const auto& one) { return one.second <= position_; });
}

std::int64_t TurnSequence::next(AccountId account) {
  std::int64_t& next = next_of_account_[account.value];
  const std::int64_t turn = std::max({std::int64_t{1}, position_, next});
  next = turn + 1;
  return turn;
}

MailTurns::MailTurns(std::shared_ptr<sql::Database> database) : database_(std::move(database)) {}

std::int64_t MailTurns::first_turn(AccountId account, UtcMillis now) {
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    is_first = !read_at_;
  }
  if (is_first) refresh(now);
  const std::lock_guard lock(mutex_);
  return sequence_.next(account);
}

void MailTurns::refresh(UtcMillis now) {
  if (is_read_since(now)) return;
  // Without the lock: requests do not wait for the query.
  const std::optional<std::int64_t> lowest = read_lowest(claim_floor(now));
  const std::lock_guard lock(mutex_);
  sequence_.serve(lowest, now);
  read_at_ = now;
}

std::optional<std::int64_t> MailTurns::claim_floor(UtcMillis now) {
  if (database_->dialect() != sql::Dialect::postgresql) return std::nullopt;
  const auto floor = floor_.find(now, [&](std::optional<UtcMillis> above) -> std::optional<UtcMillis> {
    const auto lowest = read_lowest(above ? std::optional(above->value) : std::nullopt);
    return lowest ? std::optional(UtcMillis{*lowest}) : std::nullopt;
  });
  return floor ? std::optional(floor->value) : std::nullopt;
}

std::optional<std::int64_t> MailTurns::read_lowest(std::optional<std::int64_t> floor) {
  return database_->read([&](soci::session& session) {
    return sql::first_of(sql::select_column<std::int64_t>(session, lowest_turn(floor)));
  });
}

bool MailTurns::is_read_since(UtcMillis now) {
  const std::lock_guard lock(mutex_);
  return read_at_ && !has_elapsed(*read_at_, kSecondMillis, now);
}

std::string due_deliveries(sql::Dialect dialect, const std::string& condition, std::size_t limit) {
  return "SELECT transaction_id FROM mail_outbox WHERE state IN ('queued', 'sending', 'uncertain') AND " +
         condition + " AND lease_until < " + std::string(sql::database_now(dialect)) +
         " ORDER BY turn, next_attempt_at, transaction_id LIMIT " + std::to_string(limit);
}

}  // namespace giftsync::store
