// daemon/sources: the cursor of a poll. It is stored in the same transaction as the changes that it covers,
// as a text that only poll_cursor_text.cpp parses (SRC-36). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/sources/compiled_source.h"
#include "platform/http_client.h"
#include "platform/time.h"
#include "sync/status/event_classification.h"

namespace giftsync::sources {

// What the times on a poll's pages decide. The contract of a poll by `since` without `next`:
// the feed returns items ascending by occurred_at, `since` filters that time, and a full page holds
// `page_size` items (SRC-46). A page that breaks it is a fault of the feed or of page_size, never a reason to
// guess (SRC-50). And whether a feed read by `cursor` grows at its end (SRC-64). Pure.

/// What was requested, from the cursor.
struct TimeRequest {
  std::optional<UtcMillis> from;   ///< absent: from the beginning of the feed
  std::optional<UtcMillis> known;  ///< the newest time read so far, never ahead of our clock
};

/// What came.
struct TimePage {
  std::int64_t items = 0;           ///< those that cannot be read too
  std::optional<UtcMillis> newest;  ///< of the times that are not ahead of our clock
  std::optional<UtcMillis> last;    ///< of all times
  std::int64_t items_ahead = 0;     ///< items dated ahead of our clock
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
  std::optional<UtcMillis> next_from;  ///< of the run's next page; absent: the run ends, or a fault
  friend bool operator==(const TimePageDecision&, const TimePageDecision&) = default;
};

/// What the times of a feed show of its order, from its beginning on. Times ahead of our clock do not count.
struct FeedOrder {
  std::int64_t pages = 0;    ///< with events
  std::int64_t later = 0;    ///< events later than all before them
  std::int64_t earlier = 0;  ///< events earlier than all before them
  std::optional<UtcMillis> earliest;
  std::optional<UtcMillis> latest;
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
TimePage time_page_of(std::span<const sync::InboundEvent> events, UtcMillis now, FeedOrder& order);

TimePageDecision decide_time_page(const TimeRequest& request, const TimePage& page, std::int64_t page_size);

/// What is wrong and what to do, as a sentence for the admin; empty for none.
std::string describe_fault(ContractFault fault, const TimePage& page, std::int64_t page_size);

/// A longer ETag is not kept: a server may refuse a request with so long a header.
inline constexpr std::size_t kMaxEtagBytes = 1'024;

/// This many refusals of the stored position make the feed begin again (SRC-65).
inline constexpr std::int64_t kMaxRefusals = 2;

/// A page that was read before, with its ETag.
struct CachedPage {
  std::string url;
  std::string etag;
  std::optional<UtcMillis> latest;  ///< the latest event on it, not ahead of our clock
  bool has_next = false;            ///< of a poll by time: the run continued after it
  friend bool operator==(const CachedPage&, const CachedPage&) = default;
};

struct PollCursor {
  std::string cursor;                          ///< of the next page, as the vendor sent it
  std::optional<UtcMillis> since;              ///< all events up to here are known, except late commits
  std::optional<UtcMillis> since_advanced_at;  ///< local time at which `since` last advanced
  /// Whether a run that began `overlap` after that found nothing later; then no late commit is expected
  /// (SRC-47).
  bool is_overlap_complete = false;
  std::optional<UtcMillis> began_at;  ///< local time of this run's first request
  std::optional<UtcMillis> latest;    ///< the latest event of this run so far
  std::optional<UtcMillis> from;      ///< of a poll by time: start of the run's next page
  /// The newest time read so far in all runs, never ahead of our clock (SRC-50).
  std::optional<UtcMillis> newest;
  /// When the run first requested a page that reached into the last `overlap` seconds: events may still
  /// appear behind the pages from there on (SRC-49).
  std::optional<UtcMillis> overlap_reached_at;
  std::string next;      ///< the URL of the run's next page
  FeedOrder order;       ///< of a poll by cursor: what was read since the feed's beginning
  std::string found_by;  ///< the setting that has found a cursor or link (SRC-40)
  /// Requests in a row with the stored position that were refused; above kMaxRefusals: the feed has begun
  /// again since a position was accepted (SRC-65).
  std::int64_t refusals = 0;
  std::vector<CachedPage> cached_pages;  ///< the last pages of the last run, oldest first
  std::string config_fingerprint;        ///< fingerprint of the settings used for the last request
  std::string verified_pointers;         ///< fingerprint of the last pointers that could read an event
  std::int64_t consecutive_unreadable_pages =
      0;  ///< skipped in a row because none of their events could be read
  std::vector<std::string> unreadable_fingerprints;  ///< of their events, to recognise repetitions
  bool has_retry_after = false;  ///< after the last failure Retry-After exceeded the back-off
  friend bool operator==(const PollCursor&, const PollCursor&) = default;
};

std::string serialize(const PollCursor& cursor_state);
/// An invalid text is the beginning of the feed.
PollCursor parse_poll_cursor(const std::string& text);

/// A fingerprint of all settings that determine how a feed is requested and read (SRC-37). It is short and
/// keyed by the installation, so no secret can be guessed from it.
std::string config_fingerprint(const CompiledSource& source);

/// A fingerprint of the pointers. A rotated token does not change it.
std::string pointers_fingerprint(const CompiledSource& source);

/// Adapts the cursor to edited settings: cached pages are dropped and the run begins again. `fingerprint`: of
/// the present settings.
void apply_config_fingerprint(PollCursor& cursor_state, const std::string& fingerprint);

/// Ends the run: the next page is the first one of a new run.
void restart_run(PollCursor& cursor_state);

/// The beginning of the feed after the position was refused; what the pointers have proved stays.
PollCursor started_again(const PollCursor& cursor_state);

/// Whether the next page's start follows from the times on the page before it (`since` without `next`).
bool pages_by_time(const CompiledSource& source);

/// The setting by which the pages' cursors or links are found, for messages: "next (/paging/next)". Empty for
/// a poll without such.
std::string continuation_setting(const CompiledSource& source);

/// The URL of the next request. A poll by time continues from the last event of the page before it; the first
/// page of a run begins `overlap` before `since` while late commits are possible.
std::string page_url(const CompiledSource& source, const PollCursor& cursor_state);

/// The cached page of that URL; null when there is none.
const CachedPage* find_cached_page(const PollCursor& cursor_state, const std::string& url);

struct PollPage {
  std::vector<sync::InboundEvent> events;
  PollCursor after;       ///< the cursor once these events are durable
  bool has_more = false;  ///< the run continues at once
  /// How the page breaks the contract of a poll by time, or why its cursor or link cannot be followed, with
  /// the remedy; empty: neither. Its events are to be stored. `after` requests the page again, or of a poll
  /// by `next` the first one of the run (SRC-51).
  std::string fault = {};
  std::string warning = {};  ///< for the admin, when the run ends here
};

/// When a page was requested and received.
struct PageTimestamps {
  UtcMillis requested_at;
  UtcMillis received_at;
};

/// Parses a response with status 200; a sentence says why it cannot be read. `url` is the requested one.
tl::expected<PollPage, std::string> read_page(const CompiledSource& source, const PollCursor& before,
                                              const std::string& url, const HttpGetResponse& response,
                                              const PageTimestamps& times);

/// A response with status 204: no events, and the run is over.
PollPage empty_page(const CompiledSource& source, const PollCursor& before, const PageTimestamps& times);

/// A response with status 304: the cached page again, without news.
PollPage unchanged_page(const CompiledSource& source, const PollCursor& before, const std::string& url,
                        const PageTimestamps& times);

}  // namespace giftsync::sources
