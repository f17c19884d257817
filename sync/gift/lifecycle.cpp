#include "sync/gift/lifecycle.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "platform/text.h"
#include "sync/gift/test_gifts.h"

namespace giftsync::sync {

namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  const auto number = giftsync::parse_number<std::int64_t>(text);
  return number && *number >= 0 ? number : std::nullopt;
}

/// Returns the part before `separator` and removes both from `rest`.
std::string_view split_off(std::string_view& rest, char separator) {
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  return part;
}

bool parse_days(std::string_view text, std::vector<std::int64_t>& days) {
  while (!text.empty()) {
    const auto day = parse_number(split_off(text, ','));
    if (!day) return false;
    days.push_back(*day);
  }
  return true;
}

bool parse_term(std::string_view name, std::string_view value, LifecycleTerms& terms) {
  if (name == "remind") return parse_days(value, terms.reminder_days);
  if (name == "zone") {
    terms.time_zone = value;
    return true;
  }
  std::int64_t* number = name == "unopened"      ? &terms.unopened_days
                         : name == "opened"      ? &terms.opened_days
                         : name == "undelivered" ? &terms.undelivered_days
                         : name == "refund"      ? &terms.refund_day
                                                 : nullptr;
  const auto read = parse_number(value);
  if (!number || !read) return false;
  *number = *read;
  return true;
}

}  // namespace

std::string format_terms(const LifecycleTerms& terms) {
  std::string text = "unopened=" + std::to_string(terms.unopened_days) +
                     " opened=" + std::to_string(terms.opened_days) +
                     " undelivered=" + std::to_string(terms.undelivered_days) +
                     " refund=" + std::to_string(terms.refund_day) + " zone=" + terms.time_zone;
  for (std::size_t i = 0; i < terms.reminder_days.size(); ++i)
    text += (i == 0 ? " remind=" : ",") + std::to_string(terms.reminder_days[i]);
  return text;
}

std::optional<LifecycleTerms> parse_terms(std::string_view text) {
  if (text.empty()) return std::nullopt;
  LifecycleTerms terms;
  while (!text.empty()) {
    std::string_view value = split_off(text, ' ');
    const std::string_view name = split_off(value, '=');
    if (!parse_term(name, value, terms)) return std::nullopt;
  }
  return terms;
}

namespace {

/// Not before it was sent: the clock of a source may be wrong by years.
UtcMillis time_not_before_sent(const FoldedStatus& state, Status status) {
  return std::max(*state.times[status], *state.times[Status::sent]);
}

DueOutcome undelivered_refund(const LifecycleTerms& terms, const FoldedStatus& state) {
  return {Status::refunded, Premise::undelivered,
          time_not_before_sent(state, Status::undelivered) + terms.undelivered_days * kDayMillis};
}

UtcMillis refund_of_expired(const LifecycleTerms& terms, UtcMillis expired_at) {
  if (terms.refund_day == 0) return expired_at;
  return start_of_day_next_month(terms.time_zone, expired_at, static_cast<int>(terms.refund_day));
}

DueOutcome unopened_expiry(const LifecycleTerms& terms, const FoldedStatus& state) {
  return {Status::expired, Premise::unopened, *state.times[Status::sent] + terms.unopened_days * kDayMillis};
}

DueOutcome extended(DueOutcome expiry, std::optional<UtcMillis> until) {
  if (until) expiry.at = std::max(expiry.at, *until);
  return expiry;
}

DueOutcome earlier(const DueOutcome& a, const DueOutcome& b) {
  return b.at < a.at ? b : a;
}

}  // namespace

bool is_ended(const FoldedStatus& state) {
  return state.times[Status::redeemed] || state.times[Status::donated] || state.times[Status::expired] ||
         state.times[Status::refunded];
}

FoldedStatus state_of(const store::RecipientTransaction& transaction) {
  return {transaction.status, transaction.times, transaction.has_conflict};
}

std::optional<DueOutcome> next_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                       std::optional<UtcMillis> resent_at,
                                       std::optional<UtcMillis> extended_until) {
  switch (state.status) {
    case Status::sent:
    case Status::delivered:
      return extended(unopened_expiry(terms, state), extended_until);
    case Status::undelivered: {
      const DueOutcome expiry = extended(unopened_expiry(terms, state), extended_until);
      if (resent_at && *resent_at >= *state.times[Status::undelivered]) return expiry;
      return earlier(undelivered_refund(terms, state), expiry);
    }
    case Status::opened:
      return extended({Status::expired, Premise::unclaimed,
                       time_not_before_sent(state, Status::opened) + terms.opened_days * kDayMillis},
                      extended_until);
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

std::optional<DueOutcome> alternative_outcome(const LifecycleTerms& terms, const FoldedStatus& state,
                                              std::optional<UtcMillis> resent_at, const DueOutcome& refused,
                                              std::optional<UtcMillis> extended_until) {
  const auto next = next_outcome(terms, state, resent_at, extended_until);
  if (!next || *next != refused) return next;
  const bool may_refund = state.status == Status::undelivered && refused.status == Status::expired;
  return may_refund ? std::optional(undelivered_refund(terms, state)) : std::nullopt;
}

std::optional<DueReminder> next_reminder(const LifecycleTerms& terms, SendMode mode,
                                         const FoldedStatus& state, std::optional<UtcMillis> resent_at,
                                         std::int64_t last_reminder_day, UtcMillis now,
                                         std::optional<UtcMillis> extended_until) {
  const bool is_waiting = state.status == Status::sent || state.status == Status::delivered;
  if (mode != SendMode::email || !is_waiting || terms.reminder_days.empty()) return std::nullopt;
  const auto end = next_outcome(terms, state, resent_at, extended_until);
  std::optional<DueReminder> found;
  for (const std::int64_t day : terms.reminder_days) {
    if (day <= last_reminder_day) continue;
    const DueReminder reminder{day, *state.times[Status::sent] + day * kDayMillis};
    if (end && reminder.at >= end->at) continue;
    if (found && reminder.at > now) break;
    found = reminder;
  }
  return found;
}

std::optional<UtcMillis> next_timer_at(const store::Gift& gift, const FoldedStatus& state) {
  if (gift.request.terms == store::kTestTerms) {
    const auto step = next_test_step(gift, state);
    return step ? std::optional(step->at) : std::nullopt;
  }
  const auto terms = parse_terms(gift.request.terms);
  if (!terms || !gift.transaction.gift_source.empty()) return std::nullopt;
  const store::RecipientTransaction& transaction = gift.transaction;
  const auto outcome = next_outcome(*terms, state, transaction.resent_at, transaction.extended_until);
  const auto reminder = next_reminder(*terms, gift.request.mode, state, transaction.resent_at,
                                      transaction.last_reminder_day, {0}, transaction.extended_until);
  if (!outcome) return std::nullopt;
  return reminder ? std::min(outcome->at, reminder->at) : outcome->at;
}

std::optional<UtcMillis> claimable_until(const store::Gift& gift) {
  const auto end = next_end(gift, state_of(gift.transaction));
  return end ? std::optional(end->at) : std::nullopt;
}

std::optional<DueOutcome> next_end(const store::Gift& gift, const FoldedStatus& state) {
  const auto terms = parse_terms(gift.request.terms);
  if (!terms || !gift.transaction.gift_source.empty() || is_ended(state)) return std::nullopt;
  return next_outcome(*terms, state, gift.transaction.resent_at, gift.transaction.extended_until);
}

store::LifecycleStampFunction terms_stamper(const LifecycleTerms& terms, std::int64_t unopened_link_days) {
  LifecycleTerms link_terms = terms;
  link_terms.unopened_days = unopened_link_days;
  link_terms.reminder_days.clear();
  return [terms, link_terms, text = format_terms(terms), link_text = format_terms(link_terms)](
             SendMode mode, UtcMillis sent_at) -> store::LifecycleStamp {
    const bool mailed = mode == SendMode::email;
    const LifecycleTerms& own = mailed ? terms : link_terms;
    std::int64_t days = own.unopened_days;
    if (!own.reminder_days.empty()) days = std::min(days, own.reminder_days.front());
    return {mailed ? text : link_text, sent_at + days * kDayMillis};
  };
}

namespace {

/// The library also accepts paths and names of its own ("libc:localtime").
bool is_iana_name(const std::string& name) {
  constexpr const char* kAllowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+-/";
  return !name.empty() && name.size() <= 64 && name.find_first_not_of(kAllowed) == std::string::npos &&
         name.front() != '/' && !name.starts_with("Fixed/");
}

/// The library also keeps each name that it did not find, for ever: a name that anyone may send is looked up
/// here first. UTC needs no file.
bool has_zone_file(const std::string& name) {
  const char* const folder = std::getenv("TZDIR");  // as the library
  std::error_code error;
  return name == "UTC" ||
         std::filesystem::is_regular_file(
             std::filesystem::path(folder == nullptr || *folder == '\0' ? "/usr/share/zoneinfo" : folder) /
                 name,
             error);
}

/// A zone's file is read once; the library caches it.
bool load(const std::string& name, absl::TimeZone& zone) {
  return is_iana_name(name) && absl::LoadTimeZone(name, &zone);
}

}  // namespace

bool is_time_zone(const std::string& name) {
  absl::TimeZone zone;
  return is_iana_name(name) && has_zone_file(name) && load(name, zone);
}

LocalTime local_time(const std::string& zone_name, UtcMillis time) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (!load(zone_name, zone)) zone = absl::UTCTimeZone();
  const absl::CivilSecond at = absl::ToCivilSecond(absl::FromUnixMillis(time.value), zone);
  return {.year = static_cast<int>(at.year()),
          .month = at.month(),
          .day = at.day(),
          .hour = at.hour(),
          .minute = at.minute(),
          .second = at.second()};
}

UtcMillis start_of_day_next_month(const std::string& zone_name, UtcMillis time, int day) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (!load(zone_name, zone)) zone = absl::UTCTimeZone();
  const absl::CivilMonth month(absl::ToCivilMonth(absl::FromUnixMillis(time.value), zone) + 1);
  const absl::CivilDay wanted(month.year(), month.month(), day);
  const absl::TimeZone::TimeInfo begins = zone.At(absl::CivilSecond(wanted));
  const bool is_skipped = begins.kind == absl::TimeZone::TimeInfo::SKIPPED;
  return {absl::ToUnixMillis(is_skipped ? begins.trans : begins.pre)};
}

namespace {

using store::TimerRun;

/// How long a gift waits whose timer the store refuses.
constexpr std::int64_t kRefusedTimerMillis = kHourMillis;

store::TimerPolicy policy_at(UtcMillis now) {
  return [now](const store::DueGift& due, std::span<const store::StatusChange> refused) {
    return decide_timer(due, refused, now);
  };
}

void add(LifecycleStepStats& stats, const TimerRun& run, UtcMillis now) {
  for (const store::TimerDecision& decision : run.decisions) {
    const bool is_outcome = decision.outcome && decision.outcome->source != kTestSource;
    if (is_outcome) ++(decision.outcome->status == Status::expired ? stats.expired : stats.refunded);
    if (decision.reminder) ++stats.reminded;
    stats.more = stats.more || (decision.due_at && *decision.due_at <= now);
  }
}

/// One gift after the other, so that a gift that the store refuses does not hold up the others.
LifecycleStepStats process_singly(store::LifecycleStore& lifecycle, UtcMillis now, std::size_t limit) {
  LifecycleStepStats stats;
  const std::vector<TransactionId> ids = lifecycle.find_due(now, limit);
  stats.more = ids.size() == limit;
  for (const TransactionId id : ids) {
    try {
      add(stats, lifecycle.decide_due_gift(id, now, policy_at(now)), now);
    } catch (const DependencyError& fault) {
      if (fault.transient()) throw;
      lifecycle.postpone_timer(id, now, now + kRefusedTimerMillis);
      stats.warnings.push_back({LogEvent::gift_timer_refused,
                                "the timer of gift " + std::to_string(id.value) +
                                    " cannot be applied and is tried again in an hour: " + fault.what(),
                                {gift_field(id.value).not_in_text()}});
    }
  }
  return stats;
}

}  // namespace

LifecycleStepStats lifecycle_step(store::LifecycleStore& lifecycle, UtcMillis now, std::size_t limit) {
  try {
    const TimerRun run = lifecycle.decide_due(now, limit, policy_at(now));
    LifecycleStepStats stats;
    stats.more = run.gifts == limit;
    add(stats, run, now);
    return stats;
  } catch (const DependencyError& fault) {
    if (fault.transient()) throw;
    return process_singly(lifecycle, now, limit);
  }
}

namespace {

using store::StatusChange;
using store::TimerDecision;

StatusChange change_of(const store::Gift& gift, const DueOutcome& outcome, UtcMillis now) {
  return {{}, "timer", gift.transaction.id, outcome.status, outcome.at, now, {}, outcome.premise};
}

bool is_among(std::span<const StatusChange> refused, const DueOutcome& outcome) {
  return std::any_of(refused.begin(), refused.end(), [&](const StatusChange& change) {
    return DueOutcome{change.status, change.premise, change.occurred_at} == outcome;
  });
}

/// The gift's state after that outcome.
FoldedStatus with_outcome(FoldedStatus state, const DueOutcome& due) {
  state.status = due.status;
  state.times[due.status] = due.at;
  return state;
}

TimerDecision apply(const store::Gift& gift, const FoldedStatus& state, const DueOutcome& outcome,
                    UtcMillis now) {
  TimerDecision decision;
  decision.outcome = change_of(gift, outcome, now);
  // If another change is accepted meanwhile, its fold corrects this.
  decision.due_at = next_timer_at(gift, with_outcome(state, outcome));
  return decision;
}

/// The gift's own mail must have been delivered by then; else that day is skipped.
TimerDecision remind(const store::DueGift& due, const FoldedStatus& state, const DueReminder& reminder,
                     UtcMillis now) {
  store::Gift after = due.gift;
  after.transaction.last_reminder_day = reminder.day;
  TimerDecision decision;
  decision.last_reminder_day = reminder.day;
  decision.due_at = next_timer_at(after, state);
  if (due.mail == DeliveryState::accepted)
    decision.reminder = store::GiftAction{due.gift.transaction.id, now, store::GiftActionKind::reminded,
                                          "timer", "of day " + std::to_string(reminder.day)};
  return decision;
}

/// The next step of a test gift, unless the tester or an admin has ended it.
TimerDecision decide_test_step(const store::DueGift& due, std::span<const StatusChange> refused,
                               UtcMillis now) {
  const FoldedStatus state = fold(*due.gift.transaction.times[Status::sent], due.changes);
  const auto step = next_test_step(due.gift, state);
  if (!step || is_among(refused, *step) || !allows(state, change_of(due.gift, *step, now))) return {};
  if (step->at <= now) {
    TimerDecision decision = apply(due.gift, state, *step, now);
    decision.outcome->source = kTestSource;
    return decision;
  }
  TimerDecision later;
  later.due_at = step->at;
  return later;
}

}  // namespace

TimerDecision decide_timer(const store::DueGift& due, std::span<const StatusChange> refused, UtcMillis now) {
  if (due.gift.request.terms == store::kTestTerms) return decide_test_step(due, refused, now);
  const store::RecipientTransaction& transaction = due.gift.transaction;
  const auto terms = parse_terms(due.gift.request.terms);
  if (!terms || !transaction.gift_source.empty()) return {};
  // Not the state in the gift's row: changes accepted a moment ago are not folded yet.
  const FoldedStatus state = fold(*transaction.times[Status::sent], due.changes);
  const auto is_possible = [&](const DueOutcome& outcome) {
    return !is_among(refused, outcome) && allows(state, change_of(due.gift, outcome, now));
  };
  const auto next = next_outcome(*terms, state, transaction.resent_at, transaction.extended_until);
  if (!next) return {};
  if (next->at <= now) {
    if (is_possible(*next)) return apply(due.gift, state, *next, now);
    const auto other =
        alternative_outcome(*terms, state, transaction.resent_at, *next, transaction.extended_until);
    if (!other || !is_possible(*other)) return {};
    if (other->at <= now) return apply(due.gift, state, *other, now);
    TimerDecision later;
    later.due_at = other->at;
    return later;
  }
  const auto reminder = next_reminder(*terms, due.gift.request.mode, state, transaction.resent_at,
                                      transaction.last_reminder_day, now, transaction.extended_until);
  if (reminder && reminder->at <= now) return remind(due, state, *reminder, now);
  TimerDecision later;
  later.due_at = next_timer_at(due.gift, state);
  return later;
}

}  // namespace giftsync::sync
