#include "sync/access/budget_use.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "platform/text.h"
#include "schema/ids.h"
#include "schema/store/gift/catalogue.h"

namespace giftsync::sync {
namespace {

using store::BudgetKind;
using store::BudgetLimits;
using store::Usage;
using store::UsageLimit;

bool is_of_kind(const std::string& scope, BudgetKind kind) {
  return scope == store::usage_scope(kind, id_of_scope(scope));
}

std::int64_t percent_of(std::int64_t used, std::int64_t limit) {
  if (limit <= 0 || used <= 0) return 0;
  // Without an overflow for the largest sums.
  return std::min(used / limit, kMaxId) * 100 + used % limit * 100 / limit;
}

}  // namespace

bool is_month(const UsageLimit& limit) {
  return limit.period.size() == std::string_view("2026-11").size();
}

std::optional<std::int64_t> gifts_left(const BudgetLimits& limits, const Usage& used) {
  if (!limits.gifts) return std::nullopt;
  return std::max<std::int64_t>(*limits.gifts - used.gifts, 0);
}

std::optional<Money> amount_left(const BudgetLimits& limits, const Usage& used) {
  if (!limits.amount) return std::nullopt;
  return Money{std::max<std::int64_t>(limits.amount->minor_units - used.amount.minor_units, 0)};
}

std::int64_t percent_used(const BudgetLimits& limits, const Usage& used) {
  const std::int64_t gifts = limits.gifts ? percent_of(used.gifts, *limits.gifts) : 0;
  const std::int64_t amount =
      limits.amount ? percent_of(used.amount.minor_units, limits.amount->minor_units) : 0;
  return std::max(gifts, amount);
}

Money least_cost(std::span<const store::GiftItem> items) {
  std::optional<Money> least;
  for (const store::GiftItem& item : items) {
    if (!item.active) continue;
    // A request may leave out the other costs.
    const Money cost = (item.costs.item + item.costs.transaction_fee).value_or(Money{});
    least = std::min(least.value_or(cost), cost);
  }
  return least.value_or(Money{});
}

bool pays_for_no_gift(const BudgetLimits& limits, const Usage& used, Money least) {
  const auto left = amount_left(limits, used);
  return left && *left < least;
}

bool is_exceeded(const BudgetLimits& limits, const Usage& used) {
  return (limits.gifts && used.gifts > *limits.gifts) || (limits.amount && used.amount > *limits.amount);
}

std::string_view to_word(BudgetKind kind) {
  switch (kind) {
    case BudgetKind::account:
      return "account";
    case BudgetKind::organization:
      return "organization";
    case BudgetKind::installation:
      break;
  }
  return "installation";
}

std::int64_t id_of_scope(const std::string& scope) {
  const std::size_t colon = scope.find(':');
  if (colon == std::string::npos) return 0;
  return parse_number<std::int64_t>(std::string_view(scope).substr(colon + 1)).value_or(0);
}

bool has_sending_limit(const SendingBudgetRules& rules, const SetBudgets& budgets, UtcMillis now) {
  return rules.burst_gifts > 0 || !counted_periods(rules, budgets, now).empty();
}

std::vector<BudgetUse> budget_uses(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                   store::SendingUsage& usage, UtcMillis now) {
  std::map<std::string, std::map<std::string, Usage>> by_period;  // the kinds have the same periods
  std::vector<BudgetUse> uses;
  for (const UsageLimit& counted : counted_periods(rules, budgets, now)) {
    if (!by_period.contains(counted.period))
      by_period.emplace(counted.period, usage.find_period(counted.period));
    std::map<std::string, Usage> used = by_period.at(counted.period);
    for (const auto& [scope, budget] : budgets.by_scope()) used.try_emplace(scope);
    if (*counted.kind == BudgetKind::installation) used.try_emplace(counted.scope);
    for (const auto& [scope, use] : used) {
      if (!is_of_kind(scope, *counted.kind)) continue;
      const BudgetValues values = values_of(rules, budgets, *counted.kind, id_of_scope(scope));
      BudgetUse each{counted, use, budgets.by_scope().contains(scope)};
      each.limit.scope = scope;
      each.limit.limits = is_month(counted) ? values.month : values.day;
      if (each.is_set || !each.limit.limits.empty()) uses.push_back(std::move(each));
    }
  }
  return uses;
}

}  // namespace giftsync::sync
