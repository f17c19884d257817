// sync: resets retry times that only a wrong clock can have set. A clock that was ahead leaves retry times
// far in the future. Every retry time beyond the maximum backoff of its rule (sync/delivery_rules.h) becomes
// due now. For retry times of polls see daemon/sources/poll_schedule.h.
#pragma once

#include <cstdint>
#include <string>

#include "schema/store/store.h"
#include "sync/delivery_rules.h"

namespace giftsync::sync {

struct ClockSkewRepair {
  bool pause = false;         ///< mail delivery was paused
  std::int64_t mails = 0;     ///< in the mail outbox
  std::int64_t gifts = 0;     ///< in the CRM outbox
  std::int64_t requests = 0;  ///< request records
};

/// Resets them and returns how many there were. Request records are compared with the database's clock:
/// `database_now`, and may rest for as long as RequestRecordRules::most_sender_rest_millis. Throws
/// platform::DependencyError when the store fails.
ClockSkewRepair repair_clock_skew(schema::store::Store& store, platform::UtcMillis now,
                                  platform::UtcMillis database_now,
                                  std::int64_t most_request_rest_millis = kMaxSyncRetryMillis);

/// One sentence for the operator's log; empty when there were none.
std::string describe(const ClockSkewRepair& repaired);

}  // namespace giftsync::sync
