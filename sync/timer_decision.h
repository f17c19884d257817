// sync: what a timer decides about a gift that is due (LIFE-9, LIFE-10, LIFE-12, LIFE-14, LIFE-22): an
// outcome, a reminder, or only when to look again. Pure: the store locks the gift, asks, and writes the
// answer in the same transaction.
#pragma once

#include <span>

#include "schema/store/lifecycle_store.h"

namespace giftsync::sync {

/// `due`: a gift with everything accepted so far. `refused`: outcomes that an admin voided, as the log
/// found; they are not decided again, and a gift without another outcome waits for its next change. The
/// outcome is dated with its due time and received now.
schema::store::TimerDecision decide_timer(const schema::store::DueGift& due,
                                          std::span<const schema::store::StatusChange> refused,
                                          platform::UtcMillis now);

}  // namespace giftsync::sync
