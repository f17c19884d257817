#include "sync/lifecycle_rules.h"

#include <algorithm>

#include "sync/local_day.h"

namespace giftsync::sync {
namespace {

using schema::kDayMillis;
using schema::Premise;
using schema::Status;
using schema::UtcMillis;

/// Not before it was sent: a report's clock may be wrong by years.
UtcMillis time_of(const FoldedStatus& state, Status status) {
  return std::max(*state.times[status], *state.times[Status::sent]);
}

DueOutcome undelivered_refund(const LifecycleTerms& terms, const FoldedStatus& state) {
  return {Status::refunded, Premise::undelivered,
          time_of(state, Status::undelivered) + terms.undelivered_days * kDayMillis};
}

UtcMillis refund_of_expired(const LifecycleTerms& terms, UtcMillis expired_at) {
  if (terms.refund_day == 0) return expired_at;
  return day_of_next_month(terms.time_zone, expired_at, static_cast<int>(terms.refund_day));
}

DueOutcome unopened_expiry(const LifecycleTerms& terms, const FoldedStatus& state) {
  return {Status::expired, Premise::unopened, *state.times[Status::sent] + terms.unopened_days * kDayMillis};
}

DueOutcome earlier(const DueOutcome& a, const DueOutcome& b) {
  return b.at < a.at ? b : a;
}

}  // namespace

bool is_over(const FoldedStatus& state) {
  return state.times[Status::redeemed] || state.times[Status::donated] || state.times[Status::expired] ||
         state.times[Status::refunded];
}

FoldedStatus state_of(const schema::RecipientTransaction& transaction) {
  return {transaction.status, transaction.times, transaction.contradictory};
}

std::optional<DueOutcome> next_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                       std::optional<UtcMillis> resent_at) {
  switch (state.status) {
    case Status::sent:
    case Status::delivered:
      return unopened_expiry(terms, state);
    case Status::undelivered: {
      if (resent_at && *resent_at >= *state.times[Status::undelivered]) return unopened_expiry(terms, state);
      return earlier(undelivered_refund(terms, state), unopened_expiry(terms, state));
    }
    case Status::opened:
      return DueOutcome{Status::expired, Premise::unclaimed,
                        time_of(state, Status::opened) + terms.opened_days * kDayMillis};
    case Status::expired:
      return DueOutcome{Status::refunded, Premise::expired,
                        refund_of_expired(terms, *state.times[Status::expired])};
    case Status::redeemed:
    case Status::donated:
    case Status::refunded:
      return std::nullopt;
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::optional<DueOutcome> outcome_instead(const LifecycleTerms& terms, const FoldedStatus& state,
                                          std::optional<UtcMillis> resent_at, const DueOutcome& refused) {
  const auto next = next_outcome(terms, state, resent_at);
  if (!next || *next != refused) return next;
  const bool may_refund = state.status == Status::undelivered && refused.status == Status::expired;
  return may_refund ? std::optional(undelivered_refund(terms, state)) : std::nullopt;
}

std::optional<DueReminder> next_reminder(const LifecycleTerms& terms, schema::SendMode mode,
                                         const FoldedStatus& state, std::optional<UtcMillis> resent_at,
                                         std::int64_t reminded_day, UtcMillis now) {
  const bool is_waiting = state.status == Status::sent || state.status == Status::delivered;
  if (mode != schema::SendMode::email || !is_waiting || terms.reminder_days.empty()) return std::nullopt;
  const auto end = next_outcome(terms, state, resent_at);
  std::optional<DueReminder> found;
  for (const std::int64_t day : terms.reminder_days) {
    if (day <= reminded_day) continue;
    const DueReminder reminder{day, *state.times[Status::sent] + day * kDayMillis};
    if (end && reminder.at >= end->at) continue;
    if (found && reminder.at > now) break;
    found = reminder;
  }
  return found;
}

std::optional<UtcMillis> next_look(const schema::Gift& gift, const FoldedStatus& state) {
  const auto terms = terms_from_text(gift.request.terms);
  if (!terms || !gift.transaction.origin.empty()) return std::nullopt;
  const auto outcome = next_outcome(*terms, state, gift.transaction.resent_at);
  const auto reminder = next_reminder(*terms, gift.request.mode, state, gift.transaction.resent_at,
                                      gift.transaction.reminded_day, {0});
  if (!outcome) return std::nullopt;
  return reminder ? std::min(outcome->at, reminder->at) : outcome->at;
}

std::optional<UtcMillis> claimable_until(const schema::Gift& gift) {
  const auto terms = terms_from_text(gift.request.terms);
  const FoldedStatus state = state_of(gift.transaction);
  if (!terms || !gift.transaction.origin.empty() || is_over(state)) return std::nullopt;
  const auto outcome = next_outcome(*terms, state, gift.transaction.resent_at);
  return outcome ? std::optional(outcome->at) : std::nullopt;
}

schema::LifeStampOf stamp_of(const LifecycleTerms& terms, std::int64_t unopened_link_days) {
  LifecycleTerms link_terms = terms;
  link_terms.unopened_days = unopened_link_days;
  link_terms.reminder_days.clear();
  return [terms, link_terms, text = to_text(terms), link_text = to_text(link_terms)](
             schema::SendMode mode, UtcMillis sent_at) -> schema::LifeStamp {
    const bool mailed = mode == schema::SendMode::email;
    const LifecycleTerms& own = mailed ? terms : link_terms;
    std::int64_t days = own.unopened_days;
    if (!own.reminder_days.empty()) days = std::min(days, own.reminder_days.front());
    return {mailed ? text : link_text, sent_at + days * kDayMillis};
  };
}

}  // namespace giftsync::sync
