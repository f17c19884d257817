// daemon/sources: how far a poll has come. It is stored with the changes it covers, as a text that only this
// file reads. Pure.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/sources/source_plan.h"
#include "daemon/sources/web_fetch.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// A page as it was read last, known again by its ETag.
struct SeenPage {
  std::string url;
  std::string etag;
  std::optional<schema::UtcMillis> latest;  ///< the last change on it
  friend bool operator==(const SeenPage&, const SeenPage&) = default;
};

/// Of a poll by time: why there may be changes that are out of reach. Pages that hold all there is look the
/// same.
enum class PageDoubt {
  none,
  newest_first,   ///< a page as full as any, all of it new, began with the newest
  nothing_later,  ///< a page as full as any had nothing later than where it began
  one_time,       ///< and all on it had one time: the run went on behind that
  ahead,          ///< what it had was dated in our future
};

/// A sentence for people, the same every time; empty: none.
std::string doubt_in_words(PageDoubt doubt);

struct PollPosition {
  std::string cursor;                         ///< of the next page, as the vendor gave it
  std::optional<schema::UtcMillis> since;     ///< up to it all is known, but for what was committed late
  std::optional<schema::UtcMillis> since_at;  ///< by our clock: when `since` came to where it is
  /// Whether a run that began `overlap` after that found nothing later: then nothing can come late any more.
  bool is_settled = false;
  std::optional<schema::UtcMillis> began_at;  ///< by our clock: when this run asked for its first page
  std::optional<schema::UtcMillis> latest;    ///< the last change of this run so far
  std::optional<schema::UtcMillis> from;      ///< of a poll by time: where the run's next page begins
  /// When the run first asked for a page that came close to the present: what is committed late may have
  /// missed the pages from there on.
  std::optional<schema::UtcMillis> near_present;
  std::string next;                   ///< the URL of the run's next page
  std::vector<SeenPage> seen;         ///< the last pages of the last run, oldest first
  std::int64_t fullest = 0;           ///< of a poll by time: how many reports its fullest page held
  PageDoubt doubt = PageDoubt::none;  ///< until a page proves it wrong
  std::string settings;               ///< the mark of those it was last asked under
  std::string proven;                 ///< the mark of the last pointers by which a report could be read
  std::int64_t unread_pages = 0;      ///< passed in a row although none of their reports could be read
  std::vector<std::string> unread;    ///< marks of what they said, to tell when it comes again
  bool told_to_wait = false;  ///< after the last failure, by Retry-After, for longer than our back-off
  friend bool operator==(const PollPosition&, const PollPosition&) = default;
};

std::string to_text(const PollPosition& position);
/// A text that cannot be read is the beginning.
PollPosition poll_position_from_text(const std::string& text);

/// A mark of all settings that say how a feed is asked and read; another one after almost every edit of them.
/// It is so short, and bound to the installation, that nobody can guess a secret by it.
std::string settings_mark(const SourcePlan& plan);

/// A mark of what says where things stand in a report. A token that is rotated does not change it.
std::string pointers_mark(const SourcePlan& plan);

/// What was asked under other settings: of that an address and an ETag say nothing, so a run of pages begins
/// anew, and a doubt is to be raised anew. `mark`: of the settings at work.
void take_settings(PollPosition& position, const std::string& mark);

/// The run has led nowhere: the next page is its first one.
void begin_run_anew(PollPosition& position);

/// The address to ask from here. A poll by time whose pages do not name the next one goes on from the last
/// change of the page before it, within its run; the first page of a run begins `overlap` before what is
/// known, while something before that may still come late.
std::string page_url(const SourcePlan& plan, const PollPosition& position);

/// The page of that address in `position`, when its ETag is known; else null.
const SeenPage* seen_page(const PollPosition& position, const std::string& url);

struct PollPage {
  std::vector<RawReport> reports;
  PollPosition after;  ///< where the poll is once these reports are durable
  bool more = false;   ///< the run goes on at once
};

/// When a page was asked for, and when it had come.
struct PageTimes {
  schema::UtcMillis asked_at;
  schema::UtcMillis now;
};

/// What an answer of 200 says, or a sentence why it cannot be read. `url` is where it came from.
std::variant<PollPage, std::string> read_page(const SourcePlan& plan, const PollPosition& before,
                                              const std::string& url, const WebAnswer& answer,
                                              const PageTimes& times);

/// What an answer of 204 says: nothing, and the run is over.
PollPage empty_page(const SourcePlan& plan, const PollPosition& before, const PageTimes& times);

/// What an answer of 304 says: what the same page said before, and none of it is new.
PollPage unchanged_page(const SourcePlan& plan, const PollPosition& before, const std::string& url,
                        const PageTimes& times);

}  // namespace giftsync::daemon
