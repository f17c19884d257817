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

struct PollPosition {
  std::string cursor;                       ///< of the next page, as the vendor gave it
  std::optional<schema::UtcMillis> since;   ///< the last change of all runs that came to their end
  std::optional<schema::UtcMillis> latest;  ///< the last change of this run so far
  std::string next;                         ///< the URL of the run's next page
  std::string etag;                         ///< of a run that was one page
  std::string etag_url;
  std::string settings;             ///< the mark of those it was last asked under
  std::string proven;               ///< the mark of the last pointers by which a report could be read
  std::int64_t unread_pages = 0;    ///< passed in a row although none of their reports could be read
  std::vector<std::string> unread;  ///< marks of what they said, to tell when it comes again
  bool told_to_wait = false;        ///< after the last failure, by Retry-After, for longer than our back-off
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
/// anew. `mark`: of the settings at work.
void take_settings(PollPosition& position, const std::string& mark);

/// The address to ask from here.
std::string page_url(const SourcePlan& plan, const PollPosition& position);

struct PollPage {
  std::vector<RawReport> reports;
  PollPosition after;  ///< where the poll is once these reports are durable
  bool more = false;   ///< the run goes on at once
};

/// What an answer of 200 says, or a sentence why it cannot be read. `url` is where it came from.
std::variant<PollPage, std::string> read_page(const SourcePlan& plan, const PollPosition& before,
                                              const std::string& url, const WebAnswer& answer,
                                              schema::UtcMillis now);

}  // namespace giftsync::daemon
