// cli: the row of a budget in the listings of `budget` (GUARD-8).
#pragma once

#include "cli/listing.h"
#include "sync/access/budget_list.h"

namespace giftsync::cli {

void describe(ListedRow& row, const sync::ListedBudget& budget, const std::string& currency);

}  // namespace giftsync::cli
