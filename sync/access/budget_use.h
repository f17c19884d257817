// sync: what of each budget is used and left (GUARD-8, GUARD-13), for listings, `status` and callers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "platform/time.h"
#include "schema/money.h"
#include "schema/store/gift/sending_usage.h"
#include "sync/access/sending_budgets.h"

namespace giftsync::store {
struct GiftItem;
}

namespace giftsync::sync {

/// A budget in one period.
struct BudgetUse {
  store::UsageLimit limit;  ///< its limits may be empty when an admin set no limit
  store::Usage used;
  bool is_set = false;  ///< an admin set values of the scope; else the settings' apply
};

/// Of a budget, whose period is a month, "2026-11", or a day, "2026-11-28". Pure.
bool is_month(const store::UsageLimit& limit);
/// What is left of each limit, never negative; nothing without that limit. Pure.
std::optional<std::int64_t> gifts_left(const store::BudgetLimits& limits, const store::Usage& used);
std::optional<Money> amount_left(const store::BudgetLimits& limits, const store::Usage& used);
/// In percent of the tighter of both limits, rounded down; 0 without a limit. Pure.
std::int64_t percent_used(const store::BudgetLimits& limits, const store::Usage& used);
/// The least that a gift of the active items costs; 0 when that is not known. Pure.
Money least_cost(std::span<const store::GiftItem> items);
/// What is left of the amount is less than any gift costs. Pure.
bool pays_for_no_gift(const store::BudgetLimits& limits, const store::Usage& used, Money least);
/// More is used than the limits allow. Pure.
bool is_exceeded(const store::BudgetLimits& limits, const store::Usage& used);

/// "account", "organization" or "installation".
std::string_view to_word(store::BudgetKind kind);
/// 17 of "account:17"; 0 of "all" and of a kind. Pure.
std::int64_t id_of_scope(const std::string& scope);

/// Whether any budget or the burst limits what is sent. Pure.
bool has_sending_limit(const SendingBudgetRules& rules, const SetBudgets& budgets, UtcMillis now);

/// The budgets of the counted periods with what is used: the installation's, those that an admin set, and by
/// the settings those of accounts and organizations that requested something. Of a kind, a period and then
/// by scope. Throws DependencyError.
std::vector<BudgetUse> budget_uses(const SendingBudgetRules& rules, const SetBudgets& budgets,
                                   store::SendingUsage& usage, UtcMillis now);

}  // namespace giftsync::sync
