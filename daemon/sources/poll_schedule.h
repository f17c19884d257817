// daemon/sources: how long a poll waits before its next request, and which waits end early: those computed
// under edited settings, and those set by a wrong clock.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "platform/time.h"
#include "schema/store/store.h"

namespace giftsync::daemon::sources {

/// No lease of a poll is longer.
inline constexpr std::int64_t kPollLeaseMillis = 120'000;

/// Jitter of a wait, so that many daemons do not request at once.
inline constexpr double kMaxPollJitter = 0.1;

/// The wait after this many failures in a row: the interval, doubled per failure, at most an hour or the
/// interval, whichever is longer (SRC-38).
std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures);

/// Parses "120" or an HTTP date as a wait from now, at most a day; empty for anything else.
std::optional<std::int64_t> retry_after_millis(const std::string& text, platform::UtcMillis now);

/// At a start or reload: a poll with edited settings is due at once, ignores its ETags and begins its run
/// again; another wait is unchanged (SRC-37). `owner` is the owner of the lease. False when another owner
/// polls it now: call again. Throws platform::DependencyError when the store fails.
bool reschedule_if_reconfigured(const CompiledSource& source, schema::store::Store& store,
                                const std::string& owner, platform::UtcMillis now);

/// Resets waits that are longer than any rule allows (interval, back-off, Retry-After): a clock that was
/// ahead set them. Waits computed under other settings are left to reschedule_if_reconfigured(). Returns the
/// names of the sources. Throws platform::DependencyError when the store fails.
std::vector<std::string> release_implausible_poll_waits(const std::vector<CompiledSource>& sources,
                                                        schema::store::Store& store, platform::UtcMillis now);

}  // namespace giftsync::daemon::sources
