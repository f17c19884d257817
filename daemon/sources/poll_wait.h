// daemon/sources: how long a poll waits before it is asked again, and which waits end early: those told under
// settings that were edited since, and those that a clock was wrong about.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/source_plan.h"
#include "schema/store/store.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// Of a poll's leases none is longer.
inline constexpr std::int64_t kPollLeaseMillis = 120'000;

/// Of a wait, so that many daemons do not ask at once.
inline constexpr double kMostPollJitter = 0.1;

/// How long to rest after so many failures in a row: the interval, doubled each time, at most an hour (or the
/// interval, if that is longer).
std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures);

/// "120" or an HTTP date, as a pause from now; empty for anything else. At most a day.
std::optional<std::int64_t> retry_after_millis(const std::string& text, schema::UtcMillis now);

/// At a start or reload: a poll whose settings were edited since it was last asked is due at once, and its
/// page is read even if it has not changed; a run of pages begins anew. What waits under the same settings
/// goes on waiting. `owner` is of the leases. Throws schema::BrokenWorld when the store fails.
void forget_outdated_waits(const std::vector<SourcePlan>& plans, schema::Store& store,
                           const std::string& owner, schema::UtcMillis now);

/// A poll that waits longer than any rule can have told it (its interval, its back-off, or Retry-After) got
/// its time from a clock that was ahead: it is due now. What was told under other settings is left to
/// forget_outdated_waits. Returns the names of those that did. Throws
/// schema::BrokenWorld when the store fails.
std::vector<std::string> end_false_poll_waits(const std::vector<SourcePlan>& plans, schema::Store& store,
                                              schema::UtcMillis now);

}  // namespace giftsync::daemon
