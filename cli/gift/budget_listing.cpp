#include "cli/gift/budget_listing.h"

namespace giftsync::cli {
namespace {

using Kind = TextTable::Kind;

/// A number, and null or empty without one.
void add_number(ListedRow& row, const char* key, std::string_view title, std::optional<std::int64_t> number) {
  row.add(key, {title, Kind::number}, number ? Json(*number) : Json(nullptr),
          number ? std::to_string(*number) : std::string());
}

void add_amount(ListedRow& row, const char* key, std::string_view title, std::optional<Money> amount) {
  row.add(key, {title, Kind::number}, json_amount(amount), to_decimal(amount));
}

}  // namespace

void describe(ListedRow& row, const sync::ListedBudget& budget, const std::string& currency) {
  const store::BudgetLimits& limits = budget.limit.limits;
  const auto& used = budget.used;
  row.add("scope", {"SCOPE"}, sync::to_word(*budget.limit.kind));
  row.add("name", {"NAME", Kind::elastic}, text_or_null(budget.name),
          budget.is_of_each ? std::string("each") : budget.name);
  row.add_json("of_each", budget.is_of_each);
  row.add("from", {"FROM"}, budget.is_set ? "set" : "settings");
  row.add("period", {"PERIOD"}, budget.limit.period);
  add_number(row, "limit_gifts", "GIFTS", limits.gifts);
  add_number(row, "used_gifts", "USED", used ? std::optional(used->gifts) : std::nullopt);
  add_number(row, "left_gifts", "LEFT", used ? sync::gifts_left(limits, *used) : std::nullopt);
  add_amount(row, "limit_amount", "AMOUNT", limits.amount);
  add_amount(row, "used_amount", "USED", used ? std::optional(used->amount) : std::nullopt);
  add_amount(row, "left_amount", "LEFT", used ? sync::amount_left(limits, *used) : std::nullopt);
  add_number(row, "used_percent", "%",
             used && !limits.empty() ? std::optional(sync::percent_used(limits, *used)) : std::nullopt);
  row.add("resets_at", {"RESETS (UTC)"}, std::optional(budget.limit.ends_at));
  row.add_currency(currency);
}

}  // namespace giftsync::cli
