// daemon/sources: one round of requests to one poll source: its pages one after the other, each stored
// together with the cursor that covers it, so a killed daemon resumes there (SRC-36). The step returns what
// it did; the worker that runs it only sets the pace.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/poll_cursor.h"
#include "platform/clock.h"
#include "platform/http_client.h"
#include "platform/time.h"
#include "schema/store/store.h"
#include "sync/status/event_classification.h"

namespace giftsync::sources {

struct PollContext {
  store::Store& store;
  EventIngestor& ingestor;
  SourceHealthMonitor& health_monitor;
  HttpGet fetch;
  Clock clock;
  std::function<double()> random;  ///< from 0 to 1: jitter
  std::string owner;               ///< owner of the lease
};

struct PollStats {
  bool claimed = false;
  std::size_t pages = 0;
  std::size_t accepted = 0;
  std::size_t duplicates = 0;
  std::size_t orphaned = 0;
  std::size_t quarantined = 0;
  bool has_more = false;  ///< there are more pages; run the step again at once
};

/// Throws DependencyError when the store fails.
PollStats poll_step(const CompiledSource& source, const PollContext& context,
                    const std::function<bool()>& keep_going);

// How long a poll waits before its next request, and which waits end early: those computed
// under edited settings, and those set by a wrong clock.

/// No lease of a poll is longer.
inline constexpr std::int64_t kPollLeaseMillis = 120'000;

/// Jitter of a wait, so that many daemons do not request at once.
inline constexpr double kMaxPollJitter = 0.1;

/// The wait after this many failures in a row: the interval, doubled per failure, at most an hour or the
/// interval, whichever is longer (SRC-38).
std::int64_t poll_back_off_millis(std::int64_t interval_millis, std::int64_t failures);

/// Parses "120" or an HTTP date as a wait from now, at most a day; empty for anything else.
std::optional<std::int64_t> retry_after_millis(const std::string& text, UtcMillis now);

/// At a start or reload: a poll with edited settings is due at once, ignores its ETags and begins its run
/// again; another wait is unchanged (SRC-37). `owner` is the owner of the lease. False when another owner
/// polls it now: call again. Throws DependencyError when the store fails.
bool reschedule_if_reconfigured(const CompiledSource& source, store::Store& store, const std::string& owner,
                                UtcMillis now);

/// Resets waits that are longer than any rule allows (interval, back-off, Retry-After): a clock that was
/// ahead set them. Waits computed under other settings are left to reschedule_if_reconfigured(). Returns the
/// names of the sources. Throws DependencyError when the store fails.
std::vector<std::string> release_implausible_poll_waits(const std::vector<CompiledSource>& sources,
                                                        store::Store& store, UtcMillis now);

// Pages of a feed without a readable event: what is wrong with them, and whether they were
// read before. The step decides what to do with them (poll_step.h). Pure.

/// Unreadable pages in a row that are skipped, their events quarantined. More of them are no exception: the
/// feed's format has changed (SRC-41).
inline constexpr std::int64_t kMaxUnreadablePages = 3;

/// The page has events, and none of them is readable. A status that the status map lacks is readable: its
/// event is quarantined and classified again later.
bool are_all_unreadable(const std::vector<sync::ClassifiedEvent>& classified);

/// Whether an event verifies the pointers. An ignored status verifies its own pointer only, so it does not
/// count.
bool is_any_readable(const std::vector<sync::ClassifiedEvent>& classified);

/// What is wrong with the page's first event, and which keys of the settings to check. `action`: the part of
/// the sentence that says what happens next.
std::string describe_unreadable(const std::vector<sync::ClassifiedEvent>& classified,
                                const CompiledSource& source, const std::string& action);

/// Equal for pages with the same events in the same order.
std::string page_digest(const std::vector<sync::ClassifiedEvent>& classified);

/// One fingerprint per event, and last the one of the page.
std::vector<std::string> event_fingerprints(const std::vector<sync::ClassifiedEvent>& classified);

/// Whether the page has nothing new: it was skipped before, or all its events were, on other pages.
bool is_known_unreadable(const PollCursor& cursor_state, const std::vector<std::string>& fingerprints);

void record_unreadable_page(PollCursor& cursor_state, const std::vector<std::string>& fingerprints);

}  // namespace giftsync::sources
