// sync: budgets as `budget` and the console list them (GUARD-8, GUARD-13, CON-67): by the account's e-mail
// address and the organization's name.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "schema/store/store.h"
#include "sync/access/budget_use.h"

namespace giftsync::sync {

/// What names the accounts and organizations of budgets.
class BudgetNames {
 public:
  explicit BudgetNames(store::Store& store);
  /// "rose@example.com" of "account:17"; empty for the installation.
  std::string name_of(const std::string& scope) const;

 private:
  std::map<std::string, std::string> names_;  // by scope
};

struct ListedBudget {
  std::string name = {};  ///< empty: of the installation, or of each account or organization
  bool is_of_each = false;
  bool is_set = false;
  store::UsageLimit limit = {};
  std::optional<store::Usage> used = {};  ///< nothing: not counted
};

struct BudgetList {
  std::vector<ListedBudget> rows;
  std::size_t omitted = 0;  ///< rows beyond `most`
};

/// The installation's budgets, then for organizations and accounts the settings', those that an admin set,
/// and of the others those whose use is highest, `most` for each period.
BudgetList listed_budgets(const SendingBudgetRules& rules, store::Store& store, UtcMillis now,
                          std::size_t most);

/// Those of one scope; of a period that is not counted without a use.
std::vector<ListedBudget> budgets_of_scope(const SendingBudgetRules& rules, store::Store& store,
                                           store::BudgetKind kind, std::int64_t id, const std::string& name,
                                           UtcMillis now);

}  // namespace giftsync::sync
