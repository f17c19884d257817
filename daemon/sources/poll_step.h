// daemon/sources: one round of asking one source: its pages one after the other, each stored together with
// the position that covers it, so that a daemon that dies anywhere goes on where it was (design 3.1). The
// step returns what it did; the loop that runs it only paces it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/clock.h"
#include "daemon/sources/poll_position.h"
#include "daemon/sources/source_intake.h"
#include "daemon/sources/web_fetch.h"

namespace giftsync::daemon {

struct PollTools {
  schema::Store& store;
  SourceIntake& intake;
  SourceWatch& watch;
  WebFetch fetch;
  Clock clock;
  std::function<double()> random;  ///< from 0 to 1: jitter
  std::string owner;               ///< of the lease
};

struct PollReport {
  bool claimed = false;
  std::size_t pages = 0;
  std::size_t accepted = 0;
  std::size_t repeated = 0;
  std::size_t held = 0;
  std::size_t kept_aside = 0;
  bool more = false;  ///< there are more pages; run it again at once
};

/// Throws schema::BrokenWorld when the store fails.
PollReport poll_step(const SourcePlan& plan, const PollTools& tools, const std::function<bool()>& keep_going);

/// At a start or reload: a poll whose settings were edited since it was last asked is due at once, and its
/// page is read even if it has not changed; a run of pages begins anew. What waits under the same settings
/// goes on waiting. `owner` is of the leases. Throws schema::BrokenWorld when the store fails.
void forget_outdated_waits(const std::vector<SourcePlan>& plans, schema::Store& store,
                           const std::string& owner, schema::UtcMillis now);

/// A poll that waits longer than any rule can have told it (its interval, its back-off, or Retry-After) got
/// its time from a clock that was ahead: it is due now. Returns the names of those that did. Throws
/// schema::BrokenWorld when the store fails.
std::vector<std::string> end_false_poll_waits(const std::vector<SourcePlan>& plans, schema::Store& store,
                                              schema::UtcMillis now);

/// Of a poll's leases none is longer.
inline constexpr std::int64_t kPollLeaseMillis = 120'000;

/// How long to rest after so many failures in a row: the interval, doubled each time, at most an hour (or the
/// interval, if that is longer).
std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures);

/// "120" or an HTTP date, as a pause from now; empty for anything else. At most a day.
std::optional<std::int64_t> retry_after_millis(const std::string& text, schema::UtcMillis now);

}  // namespace giftsync::daemon
