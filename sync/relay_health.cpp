#include "sync/relay_health.h"

#include <algorithm>
#include <utility>

#include "sync/delivery_rules.h"

namespace giftsync::sync {
namespace {

/// A connection that worked this recently still works, as far as is known.
constexpr std::int64_t kWorksMillis = 10 * platform::kSecondMillis;

}  // namespace

SendPermission RelayHealth::begin(std::size_t connection, platform::UtcMillis now) {
  if (pause_) {
    if (pause_->until > now || tester_.value_or(connection) != connection) return SendPermission::wait;
    tester_ = connection;
    return SendPermission::test;
  }
  const std::int64_t rest = connections_[connection].rests_until.value - now.value;
  // A longer one was set by a clock that was ahead.
  return rest > 0 && rest <= kMaxPauseMillis ? SendPermission::wait : SendPermission::send;
}

void RelayHealth::end(std::size_t connection) {
  if (tester_ == connection) tester_.reset();
}

/// Of a mail that was begun before the pause, or beside the test.
bool RelayHealth::is_known_fault(std::size_t connection, platform::UtcMillis now) const {
  return pause_ && (pause_->until > now || tester_ != connection);
}

void RelayHealth::begin_pause(const std::string& reason, platform::UtcMillis now) {
  const std::int64_t failures = pause_ ? pause_->failures + 1 : 1;
  pause_ = schema::store::CircuitBreaker{pause_ ? pause_->since : now, now + pause_millis(failures), failures,
                                         reason};
  suspects_.clear();
  for (Connection& one : connections_) one.rests_until = {0};
}

FaultScope RelayHealth::record_fault(std::size_t connection, const std::string& reason,
                                     platform::UtcMillis now) {
  Connection& failed = connections_[connection];
  if (failed.rests_until > now) return FaultScope::known;  // of the same batch
  failed.worked_at.reset();
  ++failed.failures;
  if (is_known_fault(connection, now)) return FaultScope::known;
  const bool others_work = std::any_of(connections_.begin(), connections_.end(), [&](const Connection& one) {
    return one.worked_at && !platform::has_elapsed(*one.worked_at, kWorksMillis, now);
  });
  if (!pause_ && others_work) {
    failed.rests_until = now + pause_millis(failed.failures);
    return FaultScope::connection;
  }
  begin_pause(reason, now);
  return FaultScope::relay;
}

bool RelayHealth::record_suspect(std::size_t connection, SuspectMail mail, platform::UtcMillis now) {
  std::erase_if(suspects_, [&](const SuspectMail& earlier) {
    return earlier.claim.transaction == mail.claim.transaction;
  });
  suspects_.push_back(std::move(mail));
  if (classify_suspects(recipients_of(suspects_), false) != SuspectVerdict::relay) return false;
  if (is_known_fault(connection, now)) return false;
  begin_pause("the relay refused each of " + std::to_string(suspects_.size()) +
                  " mails, the last one with: " + suspects_.back().reply,
              now);
  return true;
}

RelayHealth::Working RelayHealth::record_working(std::size_t connection, platform::UtcMillis now) {
  connections_[connection].failures = 0;
  connections_[connection].worked_at = now;
  Working working{std::exchange(pause_, std::nullopt).has_value(), {}};
  if (classify_suspects(recipients_of(suspects_), true) == SuspectVerdict::recipients)
    working.of_one_recipient = std::exchange(suspects_, {});
  return working;
}

}  // namespace giftsync::sync
