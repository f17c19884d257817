// daemon/sources: pages of a feed without a readable event: what is wrong with them, and whether they were
// read before. The step decides what to do with them (poll_step.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "daemon/sources/poll_cursor.h"
#include "sync/event_classification.h"

namespace giftsync::daemon::sources {

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

}  // namespace giftsync::daemon::sources
