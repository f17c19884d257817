#include "sync/status_facts.h"

#include <algorithm>

namespace giftsync::sync {
namespace {

using schema::Premise;
using schema::Status;
using schema::UtcMillis;
using Time = StatusFacts::Time;

bool is_before(const Time& time, UtcMillis other) {
  return time && *time < other;
}

Time earlier(const Time& a, const Time& b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

std::string words(Status status, std::string_view link, Status other) {
  return std::string(to_word(status)).append(link).append(to_word(other));
}

}  // namespace

void StatusFacts::add(Status status, Premise premise, UtcMillis earliest, UtcMillis latest) {
  std::optional<Span>& span = spans_[static_cast<std::size_t>(status)][static_cast<std::size_t>(premise)];
  if (!span) {
    span = Span{earliest, latest};
  } else {
    span->earliest = std::min(span->earliest, earliest);
    span->latest = std::max(span->latest, latest);
  }
}

Time StatusFacts::earliest(Status status) const {
  Time time;
  for (const auto& span : of(status)) {
    if (span) time = earlier(time, span->earliest);
  }
  return time;
}

Time StatusFacts::latest(Status status) const {
  Time time;
  for (const auto& span : of(status)) {
    if (span) time = std::max(time.value_or(span->latest), span->latest);
  }
  return time;
}

Time StatusFacts::claimed() const {
  return earlier(earliest(Status::redeemed), earliest(Status::donated));
}

Status StatusFacts::winner() const {
  return claimed() == earliest(Status::redeemed) ? Status::redeemed : Status::donated;
}

Time StatusFacts::opened_or_claimed() const {
  return earlier(earliest(Status::opened), claimed());
}

Time StatusFacts::expired() const {
  Time time;
  for (const Premise premise : schema::kAllPremises) {
    const auto& span = of(Status::expired)[static_cast<std::size_t>(premise)];
    // A premise that fails at the first of them fails at all later ones.
    if (span && !is_denied(Status::expired, premise, span->earliest)) time = earlier(time, span->earliest);
  }
  return time;
}

bool StatusFacts::was_turned_to_delivered(UtcMillis before) const {
  const Time delivered = latest(Status::delivered);
  return is_before(delivered, before) && is_before(latest(Status::undelivered), *delivered);
}

bool StatusFacts::is_denied(Status status, Premise premise, UtcMillis time) const {
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
  return !undelivered || *undelivered > time || is_before(opened_or_claimed(), time) ||
         was_turned_to_delivered(time);
}

std::string StatusFacts::contradiction(Status status, Premise premise, UtcMillis time) const {
  if (status == Status::expired || status == Status::refunded) {
    if (is_denied(status, premise, time)) {
      const std::string basis = std::string(to_word(status)).append(" as ").append(to_word(premise));
      if (premise == Premise::expired) return basis + ", but no expiry counts any more";
      if (premise == Premise::undelivered) return basis + ", but it was not undelivered then";
      const bool opened = premise == Premise::unopened && is_before(earliest(Status::opened), time);
      return basis + ", but it was " + std::string(to_word(opened ? Status::opened : winner())) + " before";
    }
    return is_before(claimed(), time) ? words(status, " after it was ", winner()) : "";
  }
  if (status == Status::redeemed || status == Status::donated) {
    const Status rival = status == Status::redeemed ? Status::donated : Status::redeemed;
    const Time rival_time = earliest(rival);
    const bool lost = is_before(rival_time, time) || (rival_time == time && rival == Status::redeemed);
    if (lost) return words(status, " after it was ", rival);
  } else if (status != Status::opened) {
    return "";
  }
  const Time ends[] = {expired(), earliest(Status::refunded)};
  if (ends[0] && *ends[0] <= time) return words(status, " after it was ", Status::expired);
  if (ends[1] && *ends[1] <= time) return words(status, " after it was ", Status::refunded);
  return "";
}

bool StatusFacts::any_contradiction() const {
  for (const Status status : schema::kAllStatuses) {
    for (const Premise premise : schema::kAllPremises) {
      const auto& span = of(status)[static_cast<std::size_t>(premise)];
      // Whatever flags a change flags all later ones of its kind, or all earlier ones.
      if (span && (!contradiction(status, premise, span->earliest).empty() ||
                   !contradiction(status, premise, span->latest).empty()))
        return true;
    }
  }
  return false;
}

}  // namespace giftsync::sync
