// sync: what is said of the latest run of each backfill (SYNC-72), by `status` and the console. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/store/crm/backfill_store.h"

namespace giftsync::sync {

enum class BackfillState { running, finished, failed };
BackfillState state_of(const store::BackfillRun& run);
std::string_view to_word(BackfillState state);

/// "finished 2026-11-29 03:12 UTC, gift-records: 450 examined: 449 unchanged, 1 repaired."
std::string describe(const store::BackfillRun& run);

/// When the backfill finished last, if it is one that runs weekly and did not finish for more than eight
/// days.
std::optional<UtcMillis> late_since(const store::BackfillRun& run, UtcMillis now);

/// What an admin should look at, a clause each with the command for it: differences that were left, and a
/// weekly backfill that is late. No conditions (OPS-27). `program`: "giftsyncctl ".
std::vector<std::string> warnings(const store::BackfillRun& run, const std::string& program, UtcMillis now);

}  // namespace giftsync::sync
