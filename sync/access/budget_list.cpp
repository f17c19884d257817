#include "sync/access/budget_list.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

namespace giftsync::sync {
namespace {

using store::BudgetKind;
using store::BudgetLimits;
using store::Usage;
using store::UsageLimit;

/// The values of both periods of one scope.
std::array<UsageLimit, 2> limits_of_scope(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                          BudgetKind kind, std::int64_t id, UtcMillis now) {
  const BudgetValues values = values_of(rules, budgets, kind, id);
  const auto limit_of = [&](const SendingPeriod& period, const BudgetLimits& limits) {
    return UsageLimit{period.name,   store::usage_scope(kind, id), kind, limits, period.begins_at,
                      period.ends_at};
  };
  return {limit_of(day_of(now, rules.time_zone), values.day),
          limit_of(month_of(now, rules.time_zone), values.month)};
}

/// The settings' budget of each account or organization.
void add_defaults(std::vector<ListedBudget>& rows, const SendingBudgetRules& rules, BudgetKind kind,
                  UtcMillis now) {
  // An admin can set no budget for the id 0.
  for (UsageLimit& limit : limits_of_scope(rules, {}, kind, 0, now)) {
    if (!limit.limits.empty())
      rows.push_back({.is_of_each = true, .is_set = false, .limit = std::move(limit), .used = std::nullopt});
  }
}

ListedBudget listed(const BudgetUse& use, const BudgetNames& names) {
  return {.name = names.name_of(use.limit.scope),
          .is_of_each = false,
          .is_set = use.is_set,
          .limit = use.limit,
          .used = use.used};
}

/// Those of accounts or organizations: all that an admin set, and of the others the `most` that use most.
void add_of_kind(BudgetList& list, std::vector<ListedBudget> found, std::size_t most) {
  std::ranges::stable_sort(found, [](const ListedBudget& a, const ListedBudget& b) {
    if (a.is_set != b.is_set) return a.is_set;
    if (a.limit.period.size() != b.limit.period.size()) return a.limit.period.size() > b.limit.period.size();
    const std::int64_t percent_a = percent_used(a.limit.limits, a.used.value_or(Usage{}));
    const std::int64_t percent_b = percent_used(b.limit.limits, b.used.value_or(Usage{}));
    return percent_a != percent_b ? percent_a > percent_b : a.name < b.name;
  });
  std::map<std::string, std::size_t> of_period;
  for (ListedBudget& budget : found) {
    const bool is_idle = !budget.is_set && budget.used && budget.used->gifts == 0;
    if (is_idle) continue;
    if (!budget.is_set && ++of_period[budget.limit.period] > most)
      ++list.omitted;
    else
      list.rows.push_back(std::move(budget));
  }
}

}  // namespace

BudgetNames::BudgetNames(store::Store& store) {
  for (const store::Account& account : store.accounts.list())
    names_[store::usage_scope(BudgetKind::account, account.id.value)] = account.email;
  for (const store::Organization& organization : store.organizations.list())
    names_[store::usage_scope(BudgetKind::organization, organization.id.value)] = organization.name;
}

std::string BudgetNames::name_of(const std::string& scope) const {
  const auto found = names_.find(scope);
  if (found != names_.end()) return found->second;
  return scope == store::usage_scope(BudgetKind::installation) ? std::string() : scope;
}

BudgetList listed_budgets(const SendingBudgetRules& rules, store::Store& store, UtcMillis now,
                          std::size_t most) {
  const BudgetNames names(store);
  const SetBudgets budgets = store.sending_usage.budgets();
  std::map<BudgetKind, std::vector<ListedBudget>> by_kind;
  for (const BudgetUse& use : budget_uses(rules, budgets, store.sending_usage, now))
    by_kind[*use.limit.kind].push_back(listed(use, names));
  // What an admin set to no limit is shown also where nothing is counted.
  for (const auto& [scope, budget] : budgets.by_scope()) {
    for (const BudgetKind kind : {BudgetKind::installation, BudgetKind::organization, BudgetKind::account}) {
      const std::int64_t id = id_of_scope(scope);
      if (scope != store::usage_scope(kind, id)) continue;
      std::vector<ListedBudget>& rows = by_kind[kind];
      const bool is_shown = std::ranges::any_of(
          rows, [&set = budget](const ListedBudget& row) { return row.limit.scope == set.scope; });
      if (is_shown) continue;
      for (UsageLimit& limit : limits_of_scope(rules, budgets, kind, id, now))
        rows.push_back({.name = names.name_of(scope), .is_set = true, .limit = std::move(limit)});
    }
  }
  BudgetList list;
  list.rows = std::move(by_kind[BudgetKind::installation]);
  for (const BudgetKind kind : {BudgetKind::organization, BudgetKind::account}) {
    add_defaults(list.rows, rules, kind, now);
    add_of_kind(list, std::move(by_kind[kind]), most);
  }
  return list;
}

std::vector<ListedBudget> budgets_of_scope(const SendingBudgetRules& rules, store::Store& store,
                                           BudgetKind kind, std::int64_t id, const std::string& name,
                                           UtcMillis now) {
  const SetBudgets budgets = store.sending_usage.budgets();
  const bool is_set = budgets.by_scope().contains(store::usage_scope(kind, id));
  const std::vector<UsageLimit> counted = counted_periods(rules, budgets, now);
  std::vector<ListedBudget> rows;
  for (UsageLimit& limit : limits_of_scope(rules, budgets, kind, id, now)) {
    const bool is_counted = std::ranges::any_of(counted, [&](const UsageLimit& other) {
      return other.kind == limit.kind && other.period == limit.period;
    });
    std::optional<Usage> used;
    if (is_counted) used = store.sending_usage.find(std::span(&limit, 1)).front();
    rows.push_back({.name = name, .is_set = is_set, .limit = std::move(limit), .used = used});
  }
  return rows;
}

}  // namespace giftsync::sync
