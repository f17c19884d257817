#include "sync/access/sending_budgets.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "platform/dependency_error.h"
#include "platform/text.h"
#include "sync/access/budget_use.h"

namespace giftsync::sync {
namespace {

using store::BudgetKind;
using store::BudgetLimits;
using store::SendingBudget;
using store::UsageLimit;

constexpr std::int64_t kRefreshMillis = 500;
constexpr std::int64_t kDraftMillis = 90'000;  ///< a request is made within it, or fails
constexpr std::int64_t kMaxStartMillis = 30'000;
constexpr std::int64_t kKeptDays = 400;
constexpr std::int64_t kLateMillis = 60 * kMinuteMillis;  ///< a day is looked at until so long after its end
constexpr int kMaxRounds = 10;
constexpr std::array kKinds{BudgetKind::account, BudgetKind::organization, BudgetKind::installation};

absl::TimeZone zone_of(const std::string& name) {
  absl::TimeZone zone = absl::UTCTimeZone();
  if (!absl::LoadTimeZone(name, &zone)) return absl::UTCTimeZone();
  return zone;
}

/// The first instant of the civil day, which some zones begin after midnight.
UtcMillis begin_of(const absl::CivilDay& day, const absl::TimeZone& zone) {
  const absl::TimeZone::TimeInfo begins = zone.At(absl::CivilSecond(day));
  const bool is_skipped = begins.kind == absl::TimeZone::TimeInfo::SKIPPED;
  return {absl::ToUnixMillis(is_skipped ? begins.trans : begins.pre)};
}

BudgetValues defaults_of(const SendingBudgetRules& rules, BudgetKind kind) {
  switch (kind) {
    case BudgetKind::account:
      return rules.account;
    case BudgetKind::organization:
      return rules.organization;
    case BudgetKind::installation:
      break;
  }
  return rules.installation;
}

/// A value that was set replaces the default; 0 sets no limit.
template <class Value>
void replace(std::optional<Value>& value, const std::optional<Value>& set) {
  if (!set) return;
  value = *set == Value{} ? std::nullopt : set;
}

BudgetValues replaced(BudgetValues values, const SendingBudget& budget) {
  replace(values.day.gifts, budget.day_gifts);
  replace(values.day.amount, budget.day_amount);
  replace(values.month.gifts, budget.month_gifts);
  replace(values.month.amount, budget.month_amount);
  return values;
}

/// Which of day and month are counted for a kind.
SetBudgets::Kinds counted(const SendingBudgetRules& rules, const SetBudgets& budgets, BudgetKind kind) {
  const BudgetValues defaults = defaults_of(rules, kind);
  const SetBudgets::Kinds set = budgets.limited(kind);
  return {set.day || !defaults.day.empty(), set.month || !defaults.month.empty()};
}

UsageLimit limit_of(const SendingPeriod& period, BudgetKind kind, std::string scope,
                    const BudgetLimits& limits) {
  return {period.name, std::move(scope), kind, limits, period.begins_at, period.ends_at};
}

/// The limits of one scope in its counted periods.
void add_limits(const SendingBudgetRules& rules, const SetBudgets& budgets, BudgetKind kind, std::int64_t id,
                const SendingPeriods& periods, std::vector<UsageLimit>& limits) {
  const SetBudgets::Kinds is_counted = counted(rules, budgets, kind);
  if (!is_counted.day && !is_counted.month) return;
  const BudgetValues values = values_of(rules, budgets, kind, id);
  const std::string scope = store::usage_scope(kind, id);
  if (is_counted.day) limits.push_back(limit_of(periods.day, kind, scope, values.day));
  if (is_counted.month) limits.push_back(limit_of(periods.month, kind, scope, values.month));
}

std::vector<UsageLimit> limits_of(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                  AccountId account, std::optional<OrganizationId> organization,
                                  const SendingPeriods& periods) {
  std::vector<UsageLimit> limits;
  add_limits(rules, budgets, BudgetKind::account, account.value, periods, limits);
  if (organization)
    add_limits(rules, budgets, BudgetKind::organization, organization->value, periods, limits);
  add_limits(rules, budgets, BudgetKind::installation, 0, periods, limits);
  return limits;
}

UsageLimit burst_of(const SendingBudgetRules& rules, const std::string& prefix, UtcMillis now) {
  const std::int64_t length = rules.burst_minutes * kMinuteMillis;
  const std::int64_t window = now.value / length;
  return {fmt::format("burst:{}:{}", window * length, rules.burst_minutes),
          prefix,
          std::nullopt,
          {rules.burst_gifts, std::nullopt},
          {window * length},
          {(window + 1) * length}};
}

std::string_view owner_text(BudgetKind kind) {
  switch (kind) {
    case BudgetKind::account:
      return "The account's budget";
    case BudgetKind::organization:
      return "The organization's budget";
    case BudgetKind::installation:
      break;
  }
  return "The installation's budget";
}

std::string period_text(const std::string& period) {
  static constexpr std::array kMonths{"January", "February", "March",     "April",   "May",      "June",
                                      "July",    "August",   "September", "October", "November", "December"};
  const std::string year = period.substr(0, 4);
  const std::string month = kMonths.at(static_cast<std::size_t>(std::stoi(period.substr(5, 2))) - 1);
  if (period.size() == 7) return month + " " + year;
  return fmt::format("{} {} {}", std::stoi(period.substr(8, 2)), month, year);
}

/// A request of this size never fits.
bool exceeds_alone(const store::ExceededLimit& exceeded) {
  const BudgetLimits& limits = exceeded.limit.limits;
  return (limits.gifts && exceeded.gifts > *limits.gifts) ||
         (limits.amount && exceeded.price && *exceeded.price > *limits.amount);
}

}  // namespace

SendingPeriod day_of(UtcMillis time, const std::string& zone_name) {
  const absl::TimeZone zone = zone_of(zone_name);
  const absl::CivilDay day = absl::ToCivilDay(absl::FromUnixMillis(time.value), zone);
  return {fmt::format("{:04}-{:02}-{:02}", day.year(), day.month(), day.day()), begin_of(day, zone),
          begin_of(day + 1, zone)};
}

SendingPeriod month_of(UtcMillis time, const std::string& zone_name) {
  const absl::TimeZone zone = zone_of(zone_name);
  const absl::CivilMonth month = absl::ToCivilMonth(absl::FromUnixMillis(time.value), zone);
  return {fmt::format("{:04}-{:02}", month.year(), month.month()), begin_of(absl::CivilDay(month), zone),
          begin_of(absl::CivilDay(month + 1), zone)};
}

SendingPeriods periods_of(UtcMillis time, const std::string& zone_name) {
  return {day_of(time, zone_name), month_of(time, zone_name)};
}

SetBudgets::SetBudgets(const std::vector<SendingBudget>& budgets) {
  for (const SendingBudget& budget : budgets) {
    by_scope_[budget.scope] = budget;
    const std::string word = budget.scope.substr(0, budget.scope.find(':'));
    for (const BudgetKind kind : kKinds) {
      if (word != store::usage_scope(kind)) continue;
      const BudgetValues values = replaced({}, budget);
      Kinds& limited = limited_.at(static_cast<std::size_t>(kind));
      limited.day |= !values.day.empty();
      limited.month |= !values.month.empty();
    }
  }
}

BudgetValues values_of(const SendingBudgetRules& rules, const SetBudgets& budgets, BudgetKind kind,
                       std::int64_t id) {
  const BudgetValues values = defaults_of(rules, kind);
  if (budgets.by_scope().empty()) return values;
  const auto set = budgets.by_scope().find(store::usage_scope(kind, id));
  return set == budgets.by_scope().end() ? values : replaced(values, set->second);
}

std::vector<UsageLimit> test_limits(std::vector<UsageLimit> limits) {
  for (UsageLimit& limit : limits) limit.scope.insert(0, store::kTestScopes);
  return limits;
}

store::SendingCharge charge_of(const SendingBudgetRules& rules, const SetBudgets& budgets,
                               const store::GiftRequest& request, const SendingPeriods& periods,
                               UtcMillis now) {
  store::SendingCharge charge;
  // A test counts in no day: a recount of a budget, or a refund, finds no test gift.
  if (!request.is_test) charge.day = periods.day.name;
  charge.limits = limits_of(rules, budgets, request.account, request.organization, periods);
  if (request.is_test) charge.limits = test_limits(std::move(charge.limits));
  for (UsageLimit& limit : charge.limits) limit.holds = rules.budgets_hold;
  if (rules.burst_gifts > 0 && !request.credential_prefix.empty())
    charge.limits.push_back(burst_of(rules, request.credential_prefix, now));
  if (!charge.limits.empty() && charge.limits.back().is_burst())
    charge.limits.back().holds = rules.burst_holds;
  return charge;
}

std::vector<UsageLimit> budgets_of(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                   AccountId account, std::optional<OrganizationId> organization,
                                   UtcMillis now) {
  std::vector<UsageLimit> limits =
      limits_of(rules, budgets, account, organization, periods_of(now, rules.time_zone));
  std::erase_if(limits, [](const UsageLimit& limit) { return limit.limits.empty(); });
  return limits;
}

std::vector<UsageLimit> counted_periods(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                        UtcMillis now) {
  const SendingPeriods periods = periods_of(now, rules.time_zone);
  std::vector<UsageLimit> limits;
  for (const BudgetKind kind : kKinds) add_limits(rules, budgets, kind, 0, periods, limits);
  return limits;
}

std::vector<std::string> describe(const store::AskedLimit& exceeded) {
  const UsageLimit& limit = exceeded.limit;
  const BudgetLimits& limits = limit.limits;
  if (limit.is_burst())
    return {fmt::format("This key or token may request {} in {} minutes; this request would pass that.",
                        pluralize(*limits.gifts, "gift"), limit.minutes())};
  const std::string owner(owner_text(*limit.kind));
  const std::string period = period_text(limit.period);
  std::vector<std::string> sentences;
  if (exceeded.passes_gifts())
    sentences.push_back(fmt::format("{} of {} for {} has {} left; this request has {}.", owner,
                                    pluralize(*limits.gifts, "gift"), period,
                                    *gifts_left(limits, exceeded.used), exceeded.gifts));
  if (exceeded.is_cost_unknown())
    sentences.push_back(
        fmt::format("{} of {} for {} cannot be kept, because the item's cost is not known. Ask "
                    "your administrator to add it to the catalogue.",
                    owner, to_decimal(*limits.amount), period));
  else if (exceeded.passes_amount())
    sentences.push_back(
        fmt::format("{} of {} for {} has {} left; this request costs {}.", owner, to_decimal(*limits.amount),
                    period, to_decimal(*amount_left(limits, exceeded.used)), to_decimal(*exceeded.price)));
  return sentences;
}

std::optional<UtcMillis> available_at(const std::vector<store::ExceededLimit>& exceeded) {
  std::optional<UtcMillis> latest;
  for (const store::ExceededLimit& each : exceeded) {
    if (each.limit.is_burst() || each.is_cost_unknown() || exceeds_alone(each)) return std::nullopt;
    latest = std::max(latest.value_or(each.limit.ends_at), each.limit.ends_at);
  }
  return latest;
}

std::int64_t reached_threshold(const std::vector<std::int64_t>& warn_at, const BudgetLimits& limits,
                               const store::Usage& used) {
  if (limits.empty()) return 0;
  const std::int64_t used_percent = percent_used(limits, used);
  std::int64_t reached = 0;
  for (const std::int64_t percent : warn_at)
    if (used_percent >= percent) reached = percent;
  return reached;
}

std::string describe(const BudgetWarning& warning) {
  std::string used;
  if (const auto& gifts = warning.limit.limits.gifts)
    used = fmt::format("{} of {}", warning.used.gifts, pluralize(*gifts, "gift"));
  if (const auto& amount = warning.limit.limits.amount)
    used += fmt::format("{}{} of {}", used.empty() ? "" : " and ", to_decimal(warning.used.amount),
                        to_decimal(*amount));
  return fmt::format("{} % of a budget is used: {} requested {} in {}; giftsyncctl budget list shows all",
                     warning.percent, warning.limit.scope, used, period_text(warning.limit.period));
}

SendingBudgets::Budgets SendingBudgets::current() {
  const UtcMillis now = now_();
  bool is_first = false;
  std::string known;
  {
    const std::lock_guard lock(mutex_);
    // The age must not be negative: after the clock is set back the budgets would stay as they are.
    if (read_at_ && now >= *read_at_ && now < *read_at_ + kRefreshMillis) return budgets_;
    is_first = !read_at_;
    // While they are read, and if the store fails, the budgets of before apply.
    if (!is_first) read_at_ = now;
    known = revision_;
  }
  try {
    std::string revision = usage_.revision();
    if (is_first || revision != known) {
      Budgets budgets = std::make_shared<const SetBudgets>(usage_.budgets());
      const std::lock_guard lock(mutex_);
      budgets_ = std::move(budgets);
      revision_ = std::move(revision);
      read_at_ = now;
    }
  } catch (const DependencyError&) {
    if (is_first) throw;
  }
  const std::lock_guard lock(mutex_);
  return budgets_;
}

void SendingBudgets::find_begun() {
  std::set<std::pair<std::string, BudgetKind>> counted;
  for (UsageLimit& limit : counted_periods(rules_, *current(), period_time())) {
    counted.emplace(limit.period, *limit.kind);
    if (!counted_.contains({limit.period, *limit.kind})) begun_.push_back({std::move(limit), now_()});
  }
  counted_ = std::move(counted);
}

void SendingBudgets::count_begun(const std::function<bool()>& may_continue) {
  find_begun();
  // A request that was drafted before a kind began may have been made after it was counted.
  const UtcMillis now = now_();
  for (Begun& begun : begun_) {
    begun.is_last = now < begun.at || now >= begun.at + kDraftMillis;
    if (begun.was_counted && !begun.is_last) continue;
    if (!usage_.count(std::span(&begun.limit, 1), may_continue)) break;
    begun.was_counted = true;
    begun.is_done = begun.is_last;
  }
  std::erase_if(begun_, [](const Begun& begun) { return begun.is_done; });
}

UtcMillis SendingBudgets::period_time() {
  const std::optional<UtcMillis> trusted = trusted_now_();
  const std::lock_guard lock(mutex_);
  if (trusted) last_trusted_ = trusted;
  return last_trusted_.value_or(now_());
}

void SendingBudgets::start() {
  find_begun();
  std::vector<UsageLimit> limits;
  for (const Begun& begun : begun_) limits.push_back(begun.limit);
  const std::vector<UsageLimit> uncounted = usage_.find_uncounted(limits);
  for (Begun& begun : begun_) {
    begun.was_counted = std::ranges::none_of(uncounted, [&](const UsageLimit& limit) {
      return limit.kind == begun.limit.kind && limit.period == begun.limit.period;
    });
  }
  const std::int64_t ends_at = boottime_millis() + kMaxStartMillis;
  try {
    count_begun([ends_at] { return boottime_millis() < ends_at; });
  } catch (const DependencyError&) {
    // The next count_begun() goes on.
  }
  // The daemon's settings of before may apply until now.
  for (Begun& begun : begun_) begun.at = now_();
}

std::shared_ptr<const SendingPeriods> SendingBudgets::periods() {
  const UtcMillis time = period_time();
  const std::lock_guard lock(mutex_);
  if (!periods_ || !periods_->contain(time))
    periods_ = std::make_shared<const SendingPeriods>(periods_of(time, rules_.time_zone));
  return periods_;
}

store::SendingCharge SendingBudgets::charge_of(const store::GiftRequest& request) {
  return sync::charge_of(rules_, *current(), request, *periods(), now_());
}

std::vector<UsageLimit> SendingBudgets::budgets_of(AccountId account,
                                                   std::optional<OrganizationId> organization) {
  return sync::budgets_of(rules_, *current(), account, organization, period_time());
}

void SendingBudgets::add_warnings(UtcMillis period_time, std::vector<BudgetWarning>& warnings) {
  for (BudgetUse& use : budget_uses(rules_, *current(), usage_, period_time)) {
    const store::BudgetLimits& limits = use.limit.limits;
    const std::int64_t reached = reached_threshold(rules_.warn_at, limits, use.used);
    // What was all of a budget is a part of it after a raise.
    const std::int64_t reported =
        std::min(use.used.warned,
                 reached_threshold(rules_.warn_at, limits, {use.used.warned_gifts, use.used.warned_amount}));
    if (reached > reported && usage_.mark_warned(use.limit, use.used, reached, now_()))
      warnings.push_back({std::move(use.limit), use.used, reached});
  }
}

std::vector<BudgetWarning> SendingBudgets::maintain() {
  for (int round = 0; round < kMaxRounds && usage_.apply_adjustments() > 0; ++round) {
  }
  const UtcMillis now = period_time();
  usage_.prune(day_of(now - kKeptDays * kDayMillis, rules_.time_zone).name);
  std::vector<BudgetWarning> warnings;
  add_warnings(now, warnings);
  // A threshold may have been reached in the last moments of a day, or the daemon was away then.
  const UtcMillis before = now - kLateMillis;
  if (day_of(before, rules_.time_zone) != day_of(now, rules_.time_zone)) add_warnings(before, warnings);
  return warnings;
}

}  // namespace giftsync::sync
