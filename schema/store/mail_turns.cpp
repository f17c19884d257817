#include "schema/store/mail_turns.h"

#include <algorithm>
#include <utility>

#include "schema/sql/queries.h"

namespace giftsync::schema::store {
namespace {

constexpr std::size_t kMaxAccounts = 10'000;

}  // namespace

void TurnSequence::serve(std::optional<std::int64_t> lowest_waiting, platform::UtcMillis now) {
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

std::int64_t MailTurns::first_turn(AccountId account, platform::UtcMillis now) {
  const std::lock_guard lock(mutex_);
  if (!read_at_ || platform::has_elapsed(*read_at_, platform::kSecondMillis, now)) {
    const auto lowest = database_->read([](soci::session& session) {
      return sql::first_of(
          sql::select_column<std::int64_t>(session,
                                           "SELECT turn FROM mail_outbox WHERE state IN ('queued', "
                                           "'sending', 'uncertain') AND turn > 0 ORDER BY "
                                           "turn LIMIT 1"));
    });
    sequence_.serve(lowest, now);
    read_at_ = now;
  }
  return sequence_.next(account);
}

}  // namespace giftsync::schema::store
