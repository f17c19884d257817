// daemon/sources: pages of a feed of which nothing can be read: what is wrong with them, and whether they
// were met before. What becomes of one is decided by the step (poll_step.h). Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/sources/poll_position.h"
#include "daemon/sources/report_judgement.h"
#include "daemon/sources/source_plan.h"

namespace giftsync::daemon {

/// So many pages in a row of which no report can be read are passed, their reports kept aside. More of them
/// are no accident: the feed has another form now.
inline constexpr std::int64_t kMostUnreadPages = 3;

/// A page has reports, and of none we know what it says. A word that the status map lacks is readable: its
/// report is kept aside and judged again.
bool none_is_readable(const std::vector<Judgement>& judged);

/// Whether the pointers are good. A word that is ignored says so of its own pointer only.
bool is_any_read(const std::vector<Judgement>& judged);

/// What the first report of such a page lacks, and at which keys of the settings to look. `what_now`: the
/// part of the sentence that says what is done about it.
std::string why_unreadable(const std::vector<Judgement>& judged, const SourcePlan& plan,
                           const std::string& what_now);

/// The same for pages with the same reports in the same order.
std::string digest_of(const std::vector<Judgement>& judged);

/// Of each report of a page, and of the page as a whole, which comes last.
std::vector<std::string> marks_of(const std::vector<Judgement>& judged);

/// Nothing on the page of these marks is new: it was passed before, or all its reports were, on other pages.
bool is_passed_before(const PollPosition& position, const std::vector<std::string>& marks);

void count_unread_page(PollPosition& position, const std::vector<std::string>& marks);

}  // namespace giftsync::daemon
