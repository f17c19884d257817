#include "sync/status/status_rules.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace giftsync::sync {

Status status_of(const StatusTimes& times) {
  for (const Status status :
       {Status::refunded, Status::redeemed, Status::donated, Status::expired, Status::opened}) {
    if (times[status]) return status;
  }
  const auto& delivered = times[Status::delivered];
  const auto& undelivered = times[Status::undelivered];
  if (delivered && (!undelivered || *delivered > *undelivered)) return Status::delivered;
  return undelivered ? Status::undelivered : Status::sent;
}

namespace {

constexpr UtcMillis kYear2000{946'684'800'000};

/// The changes that count.
StatusIntervals intervals_of(std::span<const store::StatusChange> changes) {
  StatusIntervals intervals;
  for (const store::StatusChange& change : changes) {
    if (!change.voiding) intervals.add(change.status, change.premise, change.occurred_at, change.occurred_at);
  }
  return intervals;
}

StatusTimes times_of(UtcMillis sent_at, const StatusIntervals& intervals) {
  StatusTimes times;
  times[Status::sent] = sent_at;
  for (const Status status : {Status::delivered, Status::undelivered})
    times[status] = intervals.latest(status);
  for (const Status status : {Status::opened, Status::redeemed, Status::donated, Status::refunded})
    times[status] = intervals.earliest(status);
  times[Status::expired] = intervals.expired();
  return times;
}

/// The earlier of redeemed and donated counts; at a tie redeemed.
void keep_earlier_claim(StatusTimes& times) {
  std::optional<UtcMillis>& redeemed = times[Status::redeemed];
  std::optional<UtcMillis>& donated = times[Status::donated];
  if (!redeemed || !donated) return;
  (*redeemed <= *donated ? donated : redeemed).reset();
}

/// Statuses of the same rank replace each other.
int rank(Status status) {
  switch (status) {
    case Status::sent:
      return 0;
    case Status::delivered:
    case Status::undelivered:
      return 1;
    case Status::opened:
      return 2;
    case Status::expired:
      return 3;
    case Status::redeemed:
    case Status::donated:
      return 4;
    case Status::refunded:
      return 5;
  }
  std::abort();  // a value outside its enumeration: a bug
}

FoldedStatus fold_intervals(UtcMillis sent_at, const StatusIntervals& intervals,
                            std::optional<Status> untimed) {
  StatusTimes times = times_of(sent_at, intervals);
  keep_earlier_claim(times);
  FoldedStatus folded{status_of(times), times, intervals.has_any_conflict()};
  if (untimed && rank(*untimed) > rank(folded.status)) folded.status = *untimed;
  return folded;
}

}  // namespace

FoldedStatus fold(UtcMillis sent_at, std::span<const store::ChangeSpan> spans,
                  std::optional<Status> untimed) {
  StatusIntervals intervals;
  for (const store::ChangeSpan& span : spans)
    intervals.add(span.status, span.premise, span.earliest, span.latest);
  return fold_intervals(sent_at, intervals, untimed);
}

FoldedStatus fold(UtcMillis sent_at, std::span<const store::StatusChange> changes,
                  std::optional<Status> untimed) {
  return fold_intervals(sent_at, intervals_of(changes), untimed);
}

store::ChangeSpan span_of(const store::StatusChange& change) {
  return {change.transaction, change.status, change.premise, change.occurred_at, change.occurred_at};
}

std::string conflict_reason(const store::StatusChange& change, std::span<const store::StatusChange> changes) {
  if (change.voiding) return "";
  return intervals_of(changes).conflict_reason(change.status, change.premise, change.occurred_at);
}

std::string time_error(UtcMillis occurred_at, UtcMillis received_at) {
  if (occurred_at < kYear2000) return "is before the year 2000";
  if (occurred_at > received_at + kDayMillis) return "is more than 24 hours in the future";
  return "";
}

namespace {

using Time = StatusIntervals::Time;

bool is_before(const Time& time, UtcMillis other) {
  return time && *time < other;
}

Time earlier(const Time& a, const Time& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::string conflict_phrase(Status status, std::string_view link, Status other) {
  return std::string(to_word(status)).append(link).append(to_word(other));
}

}  // namespace

void StatusIntervals::add(Status status, Premise premise, UtcMillis earliest, UtcMillis latest) {
  std::optional<Span>& span = spans_[static_cast<std::size_t>(status)][static_cast<std::size_t>(premise)];
  if (!span) {
    span = Span{earliest, latest};
  } else {
    span->earliest = std::min(span->earliest, earliest);
    span->latest = std::max(span->latest, latest);
  }
}

Time StatusIntervals::earliest(Status status) const {
  Time time;
  for (const auto& span : of(status)) {
    if (span) time = earlier(time, span->earliest);
  }
  return time;
}

Time StatusIntervals::latest(Status status) const {
  Time time;
  for (const auto& span : of(status)) {
    if (span) time = std::max(time.value_or(span->latest), span->latest);
  }
  return time;
}

Time StatusIntervals::claimed() const {
  return earlier(earliest(Status::redeemed), earliest(Status::donated));
}

Status StatusIntervals::claim_status() const {
  return claimed() == earliest(Status::redeemed) ? Status::redeemed : Status::donated;
}

Time StatusIntervals::opened_or_claimed() const {
  return earlier(earliest(Status::opened), claimed());
}

Time StatusIntervals::expired() const {
  Time time;
  for (const Premise premise : kAllPremises) {
    const auto& span = of(Status::expired)[static_cast<std::size_t>(premise)];
    // A premise that fails for the first of them fails for all later ones.
    if (span && !is_denied(Status::expired, premise, span->earliest)) time = earlier(time, span->earliest);
  }
  return time;
}

bool StatusIntervals::was_redelivered(UtcMillis before) const {
  const Time delivered = latest(Status::delivered);
  return is_before(delivered, before) && is_before(latest(Status::undelivered), *delivered);
}

bool StatusIntervals::is_denied(Status status, Premise premise, UtcMillis time) const {
  if (status == Status::expired) {
    if (premise == Premise::unopened) return is_before(opened_or_claimed(), time);
    return premise == Premise::unclaimed && is_before(claimed(), time);
  }
  if (status != Status::refunded) return false;
  if (premise == Premise::expired) {
    const Time expiry = expired();
    return !expiry || *expiry > time;
  }
  if (premise != Premise::undelivered) return false;
  const Time undelivered = earliest(Status::undelivered);
  return !undelivered || *undelivered > time || is_before(opened_or_claimed(), time) || was_redelivered(time);
}

std::string StatusIntervals::conflict_reason(Status status, Premise premise, UtcMillis time) const {
  if (status == Status::expired || status == Status::refunded) {
    if (is_denied(status, premise, time)) {
      const std::string basis = std::string(to_word(status)).append(" as ").append(to_word(premise));
      if (premise == Premise::expired) return basis + ", but no expiry counts any more";
      if (premise == Premise::undelivered) return basis + ", but it was not undelivered then";
      const bool opened = premise == Premise::unopened && is_before(earliest(Status::opened), time);
      return basis + ", but it was " + std::string(to_word(opened ? Status::opened : claim_status())) +
             " before";
    }
    return is_before(claimed(), time) ? conflict_phrase(status, " after it was ", claim_status()) : "";
  }
  if (status == Status::redeemed || status == Status::donated) {
    const Status other_claim = status == Status::redeemed ? Status::donated : Status::redeemed;
    const Time other_claim_time = earliest(other_claim);
    const bool is_loser =
        is_before(other_claim_time, time) || (other_claim_time == time && other_claim == Status::redeemed);
    if (is_loser) return conflict_phrase(status, " after it was ", other_claim);
  } else if (status != Status::opened) {
    return "";
  }
  const Time ends[] = {expired(), earliest(Status::refunded)};
  if (ends[0] && *ends[0] <= time) return conflict_phrase(status, " after it was ", Status::expired);
  if (ends[1] && *ends[1] <= time) return conflict_phrase(status, " after it was ", Status::refunded);
  return "";
}

bool StatusIntervals::has_any_conflict() const {
  for (const Status status : kAllStatuses) {
    for (const Premise premise : kAllPremises) {
      const auto& span = of(status)[static_cast<std::size_t>(premise)];
      // A reason that flags a change flags all later, or all earlier, changes of the same kind.
      if (span && (!conflict_reason(status, premise, span->earliest).empty() ||
                   !conflict_reason(status, premise, span->latest).empty()))
        return true;
    }
  }
  return false;
}

bool allows(const FoldedStatus& state, const store::StatusChange& change) {
  const bool claimed = state.times[Status::redeemed] || state.times[Status::donated];
  const bool refunded = state.times[Status::refunded].has_value();
  const bool expired = state.times[Status::expired].has_value();
  const bool is_claimable = !claimed && !refunded && !expired;
  switch (change.status) {
    case Status::redeemed:
    case Status::donated:
      return is_claimable;
    case Status::expired: {
      const bool opened = is_before(state.times[Status::opened], change.occurred_at);
      const bool expired_by_then = expired && *state.times[Status::expired] <= change.occurred_at;
      return !claimed && !refunded && !expired_by_then && !(change.premise == Premise::unopened && opened);
    }
    case Status::refunded:
      if (change.premise == Premise::expired) return expired && !claimed && !refunded;
      if (change.premise == Premise::undelivered) return state.status == Status::undelivered;
      return is_claimable;
    default:
      return true;
  }
}

PendingOutcome::PendingOutcome(store::StatusChange change, store::TransactionEffect effect)
    : states_(std::make_shared<States>()) {
  const auto is_allowed = [states = states_, change](UtcMillis sent_at,
                                                     std::span<const store::ChangeSpan> so_far) {
    states->before = fold(sent_at, so_far);
    if (!allows(states->before, change)) return false;
    std::vector<store::ChangeSpan> spans(so_far.begin(), so_far.end());
    spans.push_back(span_of(change));
    states->with_change = fold(sent_at, spans);
    return true;
  };
  decision_ = {std::move(change), is_allowed, std::move(effect)};
}

OutcomeResult PendingOutcome::result(store::ConditionalOutcome outcome) const {
  const bool is_accepted = outcome == store::ConditionalOutcome::accepted;
  return {outcome, is_accepted ? states_->with_change : states_->before};
}

OutcomeResult apply_conditional_outcome(store::ChangeLog& log, const store::StatusChange& change,
                                        const store::TransactionEffect& effect) {
  const PendingOutcome pending(change, effect);
  const store::Decision& decision = pending.decision();
  return pending.result(log.accept_if(decision.change, decision.condition, decision.effect));
}

}  // namespace giftsync::sync
