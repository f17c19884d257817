// daemon/sources: what the times on a poll's pages decide. The contract of a poll by `since` without `next`:
// the feed returns items ascending by occurred_at, `since` filters that time, and a full page holds
// `page_size` items (SRC-46). A page that breaks it is a fault of the feed or of page_size, never a reason to
// guess (SRC-50). And whether a feed read by `cursor` grows at its end (SRC-64). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "platform/time.h"
#include "sync/inbound_event.h"

namespace giftsync::daemon::sources {

/// What was requested, from the cursor.
struct TimeRequest {
  std::optional<platform::UtcMillis> from;   ///< absent: from the beginning of the feed
  std::optional<platform::UtcMillis> known;  ///< the newest time read so far, never ahead of our clock
};

/// What came.
struct TimePage {
  std::int64_t items = 0;                     ///< those that cannot be read too
  std::optional<platform::UtcMillis> newest;  ///< of the times that are not ahead of our clock
  std::optional<platform::UtcMillis> last;    ///< of all times
  std::int64_t items_ahead = 0;               ///< items dated ahead of our clock
  bool is_ascending = true;
  friend bool operator==(const TimePage&, const TimePage&) = default;
};

enum class ContractFault {
  none,
  more_than_page_size,  ///< the page holds more items than page_size
  not_ascending,        ///< a full page is not in the order of its times
  no_progress,          ///< a full page has nothing later than where it began
  ends_early,           ///< a page that is not full ends before a time known already: page_size is too large
};

struct TimePageDecision {
  ContractFault fault = ContractFault::none;
  std::optional<platform::UtcMillis> next_from;  ///< of the run's next page; absent: the run ends, or a fault
  friend bool operator==(const TimePageDecision&, const TimePageDecision&) = default;
};

/// What the times of a feed show of its order, from its beginning on. Times ahead of our clock do not count.
struct FeedOrder {
  std::int64_t pages = 0;    ///< with events
  std::int64_t later = 0;    ///< events later than all before them
  std::int64_t earlier = 0;  ///< events earlier than all before them
  std::optional<platform::UtcMillis> earliest;
  std::optional<platform::UtcMillis> latest;
  friend bool operator==(const FeedOrder&, const FeedOrder&) = default;
};

/// A feed of so many pages is cheaply read from its beginning in each run.
inline constexpr std::int64_t kFewPages = 10;

/// Some events in disorder are no disproof.
bool is_ascending(const FeedOrder& order);
bool is_descending(const FeedOrder& order);

/// Whether new events appear behind the last page, so that the poll may go on there (SRC-64). A feed whose
/// last page is empty and has a cursor before it is usually a log; one whose last page has events but no
/// cursor is usually a list, so it must show more.
bool grows_at_end(const FeedOrder& order, bool is_last_page_empty);

/// Times before 2000 count as unreadable. Adds the page to `order`.
TimePage time_page_of(std::span<const sync::InboundEvent> events, platform::UtcMillis now, FeedOrder& order);

TimePageDecision decide_time_page(const TimeRequest& request, const TimePage& page, std::int64_t page_size);

/// What is wrong and what to do, as a sentence for the admin; empty for none.
std::string describe_fault(ContractFault fault, const TimePage& page, std::int64_t page_size);

}  // namespace giftsync::daemon::sources
