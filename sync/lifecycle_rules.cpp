#include "sync/lifecycle_rules.h"

#include <algorithm>

#include "sync/calendar_day.h"

namespace giftsync::sync {
namespace {

/// Not before it was sent: the clock of a source may be wrong by years.
platform::UtcMillis time_not_before_sent(const FoldedStatus& state, schema::Status status) {
  return std::max(*state.times[status], *state.times[schema::Status::sent]);
}

DueOutcome undelivered_refund(const LifecycleTerms& terms, const FoldedStatus& state) {
  return {schema::Status::refunded, schema::Premise::undelivered,
          time_not_before_sent(state, schema::Status::undelivered) +
              terms.undelivered_days * platform::kDayMillis};
}

platform::UtcMillis refund_of_expired(const LifecycleTerms& terms, platform::UtcMillis expired_at) {
  if (terms.refund_day == 0) return expired_at;
  return start_of_day_next_month(terms.time_zone, expired_at, static_cast<int>(terms.refund_day));
}

DueOutcome unopened_expiry(const LifecycleTerms& terms, const FoldedStatus& state) {
  return {schema::Status::expired, schema::Premise::unopened,
          *state.times[schema::Status::sent] + terms.unopened_days * platform::kDayMillis};
}

DueOutcome earlier(const DueOutcome& a, const DueOutcome& b) {
  return b.at < a.at ? b : a;
}

}  // namespace

bool is_ended(const FoldedStatus& state) {
  return state.times[schema::Status::redeemed] || state.times[schema::Status::donated] ||
         state.times[schema::Status::expired] || state.times[schema::Status::refunded];
}

FoldedStatus state_of(const schema::store::RecipientTransaction& transaction) {
  return {transaction.status, transaction.times, transaction.has_conflict};
}

std::optional<DueOutcome> next_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                       std::optional<platform::UtcMillis> resent_at) {
  switch (state.status) {
    case schema::Status::sent:
    case schema::Status::delivered:
      return unopened_expiry(terms, state);
    case schema::Status::undelivered: {
      if (resent_at && *resent_at >= *state.times[schema::Status::undelivered])
        return unopened_expiry(terms, state);
      return earlier(undelivered_refund(terms, state), unopened_expiry(terms, state));
    }
    case schema::Status::opened:
      return DueOutcome{
          schema::Status::expired, schema::Premise::unclaimed,
          time_not_before_sent(state, schema::Status::opened) + terms.opened_days * platform::kDayMillis};
    case schema::Status::expired:
      return DueOutcome{schema::Status::refunded, schema::Premise::expired,
                        refund_of_expired(terms, *state.times[schema::Status::expired])};
    case schema::Status::redeemed:
    case schema::Status::donated:
    case schema::Status::refunded:
      return std::nullopt;
  }
  std::abort();  // a value outside its enumeration: a bug
}

std::optional<DueOutcome> alternative_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                              std::optional<platform::UtcMillis> resent_at,
                                              const DueOutcome& refused) {
  const auto next = next_outcome(terms, state, resent_at);
  if (!next || *next != refused) return next;
  const bool may_refund =
      state.status == schema::Status::undelivered && refused.status == schema::Status::expired;
  return may_refund ? std::optional(undelivered_refund(terms, state)) : std::nullopt;
}

std::optional<DueReminder> next_reminder(const LifecycleTerms& terms, schema::SendMode mode,
                                         const FoldedStatus& state,
                                         std::optional<platform::UtcMillis> resent_at,
                                         std::int64_t last_reminder_day, platform::UtcMillis now) {
  const bool is_waiting = state.status == schema::Status::sent || state.status == schema::Status::delivered;
  if (mode != schema::SendMode::email || !is_waiting || terms.reminder_days.empty()) return std::nullopt;
  const auto end = next_outcome(terms, state, resent_at);
  std::optional<DueReminder> found;
  for (const std::int64_t day : terms.reminder_days) {
    if (day <= last_reminder_day) continue;
    const DueReminder reminder{day, *state.times[schema::Status::sent] + day * platform::kDayMillis};
    if (end && reminder.at >= end->at) continue;
    if (found && reminder.at > now) break;
    found = reminder;
  }
  return found;
}

std::optional<platform::UtcMillis> next_timer_at(const schema::store::Gift& gift, const FoldedStatus& state) {
  const auto terms = parse_terms(gift.request.terms);
  if (!terms || !gift.transaction.gift_source.empty()) return std::nullopt;
  const auto outcome = next_outcome(*terms, state, gift.transaction.resent_at);
  const auto reminder = next_reminder(*terms, gift.request.mode, state, gift.transaction.resent_at,
                                      gift.transaction.last_reminder_day, {0});
  if (!outcome) return std::nullopt;
  return reminder ? std::min(outcome->at, reminder->at) : outcome->at;
}

std::optional<platform::UtcMillis> claimable_until(const schema::store::Gift& gift) {
  const auto end = next_end(gift, state_of(gift.transaction));
  return end ? std::optional(end->at) : std::nullopt;
}

std::optional<DueOutcome> next_end(const schema::store::Gift& gift, const FoldedStatus& state) {
  const auto terms = parse_terms(gift.request.terms);
  if (!terms || !gift.transaction.gift_source.empty() || is_ended(state)) return std::nullopt;
  return next_outcome(*terms, state, gift.transaction.resent_at);
}

schema::store::LifecycleStampFunction terms_stamper(const LifecycleTerms& terms,
                                                    std::int64_t unopened_link_days) {
  LifecycleTerms link_terms = terms;
  link_terms.unopened_days = unopened_link_days;
  link_terms.reminder_days.clear();
  return [terms, link_terms, text = format_terms(terms), link_text = format_terms(link_terms)](
             schema::SendMode mode, platform::UtcMillis sent_at) -> schema::store::LifecycleStamp {
    const bool mailed = mode == schema::SendMode::email;
    const LifecycleTerms& own = mailed ? terms : link_terms;
    std::int64_t days = own.unopened_days;
    if (!own.reminder_days.empty()) days = std::min(days, own.reminder_days.front());
    return {mailed ? text : link_text, sent_at + days * platform::kDayMillis};
  };
}

}  // namespace giftsync::sync
