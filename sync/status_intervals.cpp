#include "sync/status_intervals.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using Time = StatusIntervals::Time;

bool is_before(const Time& time, platform::UtcMillis other) {
  return time && *time < other;
}

Time earlier(const Time& a, const Time& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::string conflict_phrase(schema::Status status, std::string_view link, schema::Status other) {
  return std::string(to_word(status)).append(link).append(to_word(other));
}

}  // namespace

void StatusIntervals::add(schema::Status status, schema::Premise premise, platform::UtcMillis earliest,
                          platform::UtcMillis latest) {
  std::optional<Span>& span = spans_[static_cast<std::size_t>(status)][static_cast<std::size_t>(premise)];
  if (!span) {
    span = Span{earliest, latest};
  } else {
    span->earliest = std::min(span->earliest, earliest);
    span->latest = std::max(span->latest, latest);
  }
}

Time StatusIntervals::earliest(schema::Status status) const {
  Time time;
  for (const auto& span : of(status)) {
    if (span) time = earlier(time, span->earliest);
  }
  return time;
}

Time StatusIntervals::latest(schema::Status status) const {
  Time time;
  for (const auto& span : of(status)) {
    if (span) time = std::max(time.value_or(span->latest), span->latest);
  }
  return time;
}

Time StatusIntervals::claimed() const {
  return earlier(earliest(schema::Status::redeemed), earliest(schema::Status::donated));
}

schema::Status StatusIntervals::claim_status() const {
  return claimed() == earliest(schema::Status::redeemed) ? schema::Status::redeemed : schema::Status::donated;
}

Time StatusIntervals::opened_or_claimed() const {
  return earlier(earliest(schema::Status::opened), claimed());
}

Time StatusIntervals::expired() const {
  Time time;
  for (const schema::Premise premise : schema::kAllPremises) {
    const auto& span = of(schema::Status::expired)[static_cast<std::size_t>(premise)];
    // A premise that fails for the first of them fails for all later ones.
    if (span && !is_denied(schema::Status::expired, premise, span->earliest))
      time = earlier(time, span->earliest);
  }
  return time;
}

bool StatusIntervals::was_redelivered(platform::UtcMillis before) const {
  const Time delivered = latest(schema::Status::delivered);
  return is_before(delivered, before) && is_before(latest(schema::Status::undelivered), *delivered);
}

bool StatusIntervals::is_denied(schema::Status status, schema::Premise premise,
                                platform::UtcMillis time) const {
  if (status == schema::Status::expired) {
    if (premise == schema::Premise::unopened) return is_before(opened_or_claimed(), time);
    return premise == schema::Premise::unclaimed && is_before(claimed(), time);
  }
  if (status != schema::Status::refunded) return false;
  if (premise == schema::Premise::expired) {
    const Time expiry = expired();
    return !expiry || *expiry > time;
  }
  if (premise != schema::Premise::undelivered) return false;
  const Time undelivered = earliest(schema::Status::undelivered);
  return !undelivered || *undelivered > time || is_before(opened_or_claimed(), time) || was_redelivered(time);
}

std::string StatusIntervals::conflict_reason(schema::Status status, schema::Premise premise,
                                             platform::UtcMillis time) const {
  if (status == schema::Status::expired || status == schema::Status::refunded) {
    if (is_denied(status, premise, time)) {
      const std::string basis = std::string(to_word(status)).append(" as ").append(to_word(premise));
      if (premise == schema::Premise::expired) return basis + ", but no expiry counts any more";
      if (premise == schema::Premise::undelivered) return basis + ", but it was not undelivered then";
      const bool opened =
          premise == schema::Premise::unopened && is_before(earliest(schema::Status::opened), time);
      return basis + ", but it was " +
             std::string(to_word(opened ? schema::Status::opened : claim_status())) + " before";
    }
    return is_before(claimed(), time) ? conflict_phrase(status, " after it was ", claim_status()) : "";
  }
  if (status == schema::Status::redeemed || status == schema::Status::donated) {
    const schema::Status other_claim =
        status == schema::Status::redeemed ? schema::Status::donated : schema::Status::redeemed;
    const Time other_claim_time = earliest(other_claim);
    const bool is_loser = is_before(other_claim_time, time) ||
                          (other_claim_time == time && other_claim == schema::Status::redeemed);
    if (is_loser) return conflict_phrase(status, " after it was ", other_claim);
  } else if (status != schema::Status::opened) {
    return "";
  }
  const Time ends[] = {expired(), earliest(schema::Status::refunded)};
  if (ends[0] && *ends[0] <= time) return conflict_phrase(status, " after it was ", schema::Status::expired);
  if (ends[1] && *ends[1] <= time) return conflict_phrase(status, " after it was ", schema::Status::refunded);
  return "";
}

bool StatusIntervals::has_any_conflict() const {
  for (const schema::Status status : schema::kAllStatuses) {
    for (const schema::Premise premise : schema::kAllPremises) {
      const auto& span = of(status)[static_cast<std::size_t>(premise)];
      // A reason that flags a change flags all later, or all earlier, changes of the same kind.
      if (span && (!conflict_reason(status, premise, span->earliest).empty() ||
                   !conflict_reason(status, premise, span->latest).empty()))
        return true;
    }
  }
  return false;
}

}  // namespace giftsync::sync
