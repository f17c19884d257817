#include "sync/mail/relay_health.h"

#include <iterator>
#include <string_view>
#include <utility>

#include "sync/mail/delivery_rules.h"

namespace giftsync::sync {
namespace {

std::string_view domain_of(std::string_view address) {
  const std::size_t at = address.rfind('@');
  return at == std::string_view::npos ? address : address.substr(at + 1);
}

}  // namespace

bool is_relays_fault(std::span<const std::string> recipients) {
  const std::set<std::string_view> different(recipients.begin(), recipients.end());
  return different.size() >= kMinSuspectRecipients;
}

std::size_t most_telling(std::span<const std::string> waiting, std::span<const std::string> suspects) {
  const auto first_without = [&](auto&& part_of) {
    const auto found = std::find_if(waiting.begin(), waiting.end(), [&](const std::string& address) {
      return std::none_of(suspects.begin(), suspects.end(), [&](const std::string& suspect) {
        return part_of(std::string_view(suspect)) == part_of(std::string_view(address));
      });
    });
    return static_cast<std::size_t>(found - waiting.begin());
  };
  const std::size_t other_domain = first_without(domain_of);
  if (other_domain < waiting.size()) return other_domain;
  const std::size_t other_address = first_without([](std::string_view address) { return address; });
  return other_address < waiting.size() ? other_address : 0;
}

std::vector<std::string> recipients_of(std::span<const SuspectMail> suspects) {
  std::vector<std::string> recipients;
  for (const SuspectMail& suspect : suspects) recipients.push_back(suspect.recipient);
  return recipients;
}

namespace {

/// A connection that worked this recently still works, as far as is known.
constexpr std::int64_t kWorksMillis = 10 * kSecondMillis;
/// A shorter pause matters little to mails that are tried for a day.
constexpr std::int64_t kLongPauseMillis = kHourMillis;
/// The reason of a pause that refusals began; also of a stored one.
constexpr std::string_view kRefusedEach = "the relay refused each of ";

bool is_of_refusals(const std::optional<store::CircuitBreaker>& pause) {
  return pause && pause->reason.starts_with(kRefusedEach);
}

}  // namespace

SendPermission RelayHealth::begin(std::size_t connection, UtcMillis now) {
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

/// Whether the mail was begun before the pause, or beside the test.
bool RelayHealth::is_known_fault(std::size_t connection, UtcMillis now) const {
  return pause_ && (pause_->until > now || tester_ != connection);
}

void RelayHealth::begin_pause(const std::string& reason, UtcMillis now) {
  const std::int64_t failures = pause_ ? pause_->failures + 1 : 1;
  pause_ =
      store::CircuitBreaker{pause_ ? pause_->since : now, now + pause_millis(failures), failures, reason};
  for (SuspectMail& mail : std::exchange(suspects_, {}))
    if (mail.is_refusal) paused_suspects_.push_back(std::move(mail));
  refused_before_.clear();
  for (Connection& connection : connections_) connection.rests_until = {0};
}

FaultScope RelayHealth::record_fault(std::size_t connection, const std::string& reason, UtcMillis now) {
  Connection& failed = connections_[connection];
  if (failed.rests_until > now) return FaultScope::known;  // of the same batch
  failed.worked_at.reset();
  ++failed.failures;
  if (is_known_fault(connection, now)) return FaultScope::known;
  const bool others_work = std::any_of(connections_.begin(), connections_.end(), [&](const Connection& one) {
    return one.worked_at && !has_elapsed(*one.worked_at, kWorksMillis, now);
  });
  if (!pause_ && others_work) {
    failed.rests_until = now + pause_millis(failed.failures);
    return FaultScope::connection;
  }
  begin_pause(reason, now);
  return FaultScope::relay;
}

void RelayHealth::end_pause(const store::CircuitBreaker& stored, UtcMillis now) {
  if (has_elapsed(stored.since, kLongPauseMillis, now)) long_pause_ended_at_ = now;
  pause_.reset();
}

UtcMillis RelayHealth::day_started_at(UtcMillis first, UtcMillis now) const {
  const bool is_long = pause_ && has_elapsed(pause_->since, kLongPauseMillis, now);
  return is_long ? now : std::max(first, long_pause_ended_at_);
}

SuspectVerdict RelayHealth::record_suspect(std::size_t connection, SuspectMail mail, UtcMillis now) {
  const auto is_same = [&](const SuspectMail& earlier) {
    return earlier.claim.transaction == mail.claim.transaction;
  };
  refusals_ += mail.is_refusal ? 1 : 0;
  std::erase_if(paused_suspects_, is_same);
  const bool is_repeated = std::erase_if(suspects_, is_same) > 0;
  if (mail.is_refusal && refused_before_.erase(mail.recipient) > 0) return SuspectVerdict::recipients;
  // Not at once: after a start the other mails that wait are tried first.
  if (mail.is_limit_reached && is_repeated && !pause_) return SuspectVerdict::recipients;
  suspects_.push_back(std::move(mail));
  if (!is_relays_fault(recipients_of(suspects_)) || is_known_fault(connection, now))
    return SuspectVerdict::undecided;
  begin_pause(std::string(kRefusedEach) + std::to_string(suspects_.size()) +
                  " mails, the last one with: " + suspects_.back().reply,
              now);
  return SuspectVerdict::relay;
}

RelayHealth::Working RelayHealth::record_working(std::size_t connection, const std::string& recipient,
                                                 bool is_taken, UtcMillis now) {
  connections_[connection].failures = 0;
  connections_[connection].worked_at = now;
  refused_before_.erase(recipient);
  // A relay that refuses all mails may know that one address is none, too.
  if (!is_taken && is_of_refusals(pause_)) return {};
  Working working{pause_.has_value(), {}};
  if (pause_) end_pause(*pause_, now);
  const auto decided =
      std::stable_partition(suspects_.begin(), suspects_.end(),
                            [&](const SuspectMail& mail) { return mail.is_refusal && !is_taken; });
  std::move(decided, suspects_.end(), std::back_inserter(working.of_one_recipient));
  suspects_.erase(decided, suspects_.end());
  if (!is_taken) return working;
  std::ranges::move(std::exchange(paused_suspects_, {}), std::back_inserter(working.of_one_recipient));
  for (const SuspectMail& mail : working.of_one_recipient)
    if (mail.is_refusal && mail.recipient != recipient) refused_before_.insert(mail.recipient);
  return working;
}

}  // namespace giftsync::sync
