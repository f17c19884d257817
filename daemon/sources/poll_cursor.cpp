#include "daemon/sources/poll_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "daemon/sources/event_extraction.h"
#include "platform/digest.h"
#include "sync/status_rules.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::size_t kMaxCursorBytes = 8'192;
/// 32 bits: an edit is missed once in four billion times, and many secrets share a fingerprint.
constexpr std::size_t kFingerprintDigits = 8;
/// A poll by time without news requests two pages: the overlap and what follows it.
constexpr std::size_t kMaxCachedPages = 2;
/// A smaller page does not count as full: no vendor uses so small a page size.
constexpr std::int64_t kMinFullPageEvents = 10;
/// A page less than 1/N as long as a full one is not full, even where page lengths vary a little.
constexpr std::int64_t kShortPageDivisor = 2;
/// A page with less than 1/N events later than its start only repeats known events. Where the vendor
/// truncates `since` to seconds, more than that repeats.
constexpr std::int64_t kFewNewerDivisor = 10;

using Time = std::optional<platform::UtcMillis>;  // of those, the later one is std::max: absent is earliest

Time time_of(const sync::InboundEvent& event) {
  return sync::parse_event_time(event[sync::EventField::occurred_at]);
}

/// The last believable time of the page, never in the future: a future time must not skip earlier events
/// (SRC-45).
Time latest_event_time(const std::vector<sync::InboundEvent>& events, platform::UtcMillis now) {
  Time latest;
  for (const sync::InboundEvent& event : events) {
    const Time time = time_of(event);
    if (time && *time <= now && sync::time_error(*time, now).empty()) latest = std::max(latest, time);
  }
  return latest;
}

/// Its pages do not name the next one; the next start follows from the events' times (SRC-46).
bool pages_by_time(const CompiledSource& source) {
  return !source.settings.since.empty() && source.settings.next.empty();
}

/// Start of the time range of the next page; empty: from the beginning.
Time request_from(const CompiledSource& source, const PollCursor& cursor_state) {
  if (cursor_state.from || !cursor_state.since) return cursor_state.from;
  if (cursor_state.is_overlap_complete) return cursor_state.since;
  return *cursor_state.since - source.settings.overlap_seconds * platform::kSecondMillis;
}

void update_latest(const CompiledSource& source, PollCursor& cursor_state, Time latest,
                   platform::UtcMillis requested_at) {
  if (!latest) return;
  cursor_state.latest = std::max(cursor_state.latest, latest);
  const std::int64_t close_seconds =
      std::max(source.settings.overlap_seconds, source.settings.interval_seconds);
  const bool is_close = *latest > requested_at - close_seconds * platform::kSecondMillis;
  if (is_close && !cursor_state.near_present_at) cursor_state.near_present_at = requested_at;
}

/// What a page of a poll by time shows about its feed.
struct PageExtent {
  Time from;  ///< the requested start; absent: from the beginning
  Time latest;
  std::int64_t count = 0;
  std::int64_t newer = 0;  ///< events later than the start

  bool goes_further() const { return !from || latest > from; }
};

PageExtent page_extent(const std::vector<sync::InboundEvent>& events, Time latest, Time from) {
  const auto newer = std::count_if(events.begin(), events.end(), [&](const sync::InboundEvent& event) {
    return !from || time_of(event) > from;
  });
  return {from, latest, static_cast<std::int64_t>(events.size()), static_cast<std::int64_t>(newer)};
}

/// Much shorter than a full page, or almost all of it repeats the page before. The few new events can wait
/// for the next run.
bool has_little_new(const PageExtent& page, std::int64_t max_page_events) {
  return kShortPageDivisor * page.count < max_page_events || kFewNewerDivisor * page.newer < page.count;
}

/// Whether the page may have been truncated, so that the run continues from it: it has events later than its
/// start. A busy feed always has later events, so (SRC-48):
/// - Events later than the moment when the run came close to the present belong to the next run, however full
/// the page.
/// - A run that came close to the present ends at a page that is not full, and any run at a page with little
/// news. Only after `since`, or the overlap could fill a page for ever.
bool may_be_truncated(const PollCursor& before, const PollCursor& after, const PageExtent& page) {
  if (!page.latest || !page.goes_further()) return false;
  if (after.near_present_at && page.latest >= after.near_present_at) return false;
  if (before.since && page.latest <= before.since) return true;
  return !has_little_new(page, after.max_page_events) &&
         !(after.near_present_at && page.count < after.max_page_events);
}

bool is_full(const PollCursor& before, const PageExtent& page) {
  return page.count >= std::max(before.max_page_events, kMinFullPageEvents);
}

/// Largest difference between the requested time and the times on the page if the vendor truncates nothing.
constexpr std::int64_t kTimestampSlackMillis = 2;

/// The time of a full page whose events all have one time, the requested one: more events of that time cannot
/// be requested, but later ones can (SRC-50). Absent for any other page.
Time single_timestamp_of(const PollCursor& before, const std::vector<sync::InboundEvent>& events,
                         const PageExtent& page) {
  if (!page.from || !is_full(before, page)) return std::nullopt;
  const Time time = time_of(events.front());
  if (!time || *time > *page.from || *time + kTimestampSlackMillis < *page.from) return std::nullopt;
  const bool is_single = std::all_of(events.begin(), events.end(),
                                     [&](const sync::InboundEvent& event) { return time_of(event) == time; });
  return is_single ? time : std::nullopt;
}

/// A time after `time`, whether `since` means "after" or "from". A vendor that returns the same page again
/// truncates to seconds.
platform::UtcMillis just_after(platform::UtcMillis time, platform::UtcMillis requested_from) {
  return time + (requested_from > time ? platform::kSecondMillis + 1 : kTimestampSlackMillis);
}

/// Begins with the newest event, and all of its events are new.
bool is_newest_first(const PollCursor& before, const std::vector<sync::InboundEvent>& events) {
  const Time first = time_of(events.front());
  const Time last = time_of(events.back());
  return first && last && *first > *last && (!before.since || *last > *before.since);
}

/// The warning after this page. An earlier warning stays until a page disproves it: missed events stay
/// missed, and the next page does not show them (SRC-51).
CompletenessWarning warning_after(const PollCursor& before, const std::vector<sync::InboundEvent>& events,
                                  const PageExtent& page, platform::UtcMillis now) {
  const bool is_full_page = is_full(before, page);
  if (is_full_page && is_newest_first(before, events)) return CompletenessWarning::newest_first;
  // A page with more events proves that the page before was not full, or that pages are larger now.
  const bool has_unreachable_events = before.warning == CompletenessWarning::newest_first ||
                                      before.warning == CompletenessWarning::single_timestamp;
  if (has_unreachable_events && page.count <= before.max_page_events) return before.warning;
  if (page.goes_further()) return has_unreachable_events ? CompletenessWarning::none : before.warning;
  if (!is_full_page) return page.count < before.max_page_events ? CompletenessWarning::none : before.warning;
  const bool has_future_timestamps = std::any_of(
      events.begin(), events.end(), [now](const sync::InboundEvent& event) { return time_of(event) > now; });
  return has_future_timestamps ? CompletenessWarning::future_timestamps : CompletenessWarning::no_later_event;
}

void cache_page(PollCursor& cursor_state, CachedPage page) {
  std::erase_if(cursor_state.cached_pages, [&](const CachedPage& one) { return one.url == page.url; });
  if (page.etag.empty()) return;
  cursor_state.cached_pages.push_back(std::move(page));
  if (cursor_state.cached_pages.size() > kMaxCachedPages)
    cursor_state.cached_pages.erase(cursor_state.cached_pages.begin());
}

PollCursor with_run_started(const PollCursor& before, const PageTimestamps& times) {
  PollCursor cursor_state = before;
  if (!cursor_state.began_at) cursor_state.began_at = times.requested_at;
  return cursor_state;
}

/// Events committed late during the run are found by the next one: its overlap begins where this run came
/// close to the present, not at its last event (SRC-49).
void finish_run(const CompiledSource& source, PollCursor& cursor_state, platform::UtcMillis now) {
  Time last = cursor_state.latest;
  if (last && cursor_state.near_present_at) last = std::min(last, cursor_state.near_present_at);
  const Time since = std::max(cursor_state.since, last);
  const std::int64_t overlap_millis = source.settings.overlap_seconds * platform::kSecondMillis;
  if (since != cursor_state.since || !cursor_state.since_advanced_at) {
    cursor_state.since_advanced_at = now;
    cursor_state.is_overlap_complete = false;
  } else if (cursor_state.began_at &&
             *cursor_state.began_at >= *cursor_state.since_advanced_at + overlap_millis) {
    // Events that could not be requested may become available, but only within the overlap.
    cursor_state.is_overlap_complete = cursor_state.warning == CompletenessWarning::none;
  }
  cursor_state.since = since;
  restart_run(cursor_state);
}

/// The value that leads to the next page, or a sentence that says why there is none.
using Continuation = tl::expected<std::string, std::string>;

/// The value for the setting `key`; empty: this was the last page. Another kind of value is a fault: taken
/// for the end, it would hide all further pages (SRC-39).
Continuation continuation_at(const platform::JsonValue& root, std::string_view key,
                             const std::string& pointer) {
  const platform::JsonValue* value = platform::JsonPointer::parse(pointer)->resolve(root);
  if (value == nullptr || value->is_null()) return "";
  if (!value->is_array() && !value->is_object() && !value->boolean()) return scalar_text(*value);
  return tl::make_unexpected(
      fmt::format("{} ({}) finds {}; allowed: text or a number, and null or nothing on the last page", key,
                  pointer, value->kind_name()));
}

/// Empty: this was the last page.
Continuation next_cursor(const CompiledSource& source, const platform::JsonValue& root) {
  const std::string& pointer = source.settings.cursor_pointer;
  Continuation cursor = pointer.empty() ? "" : continuation_at(root, "cursor.pointer", pointer);
  if (cursor && cursor->size() > kMaxCursorBytes)
    return tl::make_unexpected(fmt::format("its cursor has more than {} bytes", kMaxCursorBytes));
  return cursor;
}

/// Empty: this was the last page. A link that leads to another host is a fault.
Continuation next_url(const CompiledSource& source, const platform::JsonValue& root, const std::string& url,
                      const platform::HttpGetResponse& response) {
  const std::string& next_setting = source.settings.next;
  if (next_setting.empty()) return "";
  const Continuation reference = next_setting == "link" ? platform::next_link_url(response.link)
                                                        : continuation_at(root, "next", next_setting);
  if (!reference || reference->empty()) return reference;
  const std::string next = platform::resolve_url(url, *reference);
  if (next.empty() || next.size() > kMaxCursorBytes)
    return tl::make_unexpected("its link to the next page is not a URL");
  if (!platform::is_same_origin(source.settings.url, next))
    return tl::make_unexpected("its link to the next page leads to another host");
  if (next == url) return tl::make_unexpected("its link to the next page leads to the same page");
  return next;
}

std::string describe(const ExtractionError& error) {
  if (const auto* sentence = std::get_if<std::string>(&error)) return *sentence;
  return fmt::format("its page holds {} events; allowed: at most {}; request smaller pages in its url",
                     std::get<TooManyEvents>(error).found, kMaxEvents);
}

/// A lone surrogate or too much depth is valid JSON all the same.
std::string describe_json_error(const platform::JsonError& error) {
  if (error.code == "too_many_values" || error.code == "too_long")
    return "its page is too large: " + error.message + " Request smaller pages in its url.";
  const bool is_json = error.code == "lone_surrogate" || error.code == "too_deep";
  return (is_json ? "its page cannot be read: " : "not JSON: ") + error.message;
}

/// Sets where a run by time continues after a page, the cached page and the warning.
void continue_by_time(const CompiledSource& source, const PollCursor& before, PollPage& page,
                      CachedPage cached_page, platform::UtcMillis now) {
  const PageExtent extent = page_extent(page.events, cached_page.latest, request_from(source, before));
  page.after.max_page_events = std::max(before.max_page_events, extent.count);
  if (const Time single_timestamp = single_timestamp_of(before, page.events, extent)) {
    page.has_more = true;
    page.after.from = just_after(*single_timestamp, *extent.from);
    page.after.warning = CompletenessWarning::single_timestamp;
    cached_page.etag.clear();  // a 304 would be taken for the end
  } else {
    page.has_more = may_be_truncated(before, page.after, extent);
    if (page.has_more) page.after.from = cached_page.latest;
    page.after.warning = warning_after(before, page.events, extent, now);
  }
  cache_page(page.after, std::move(cached_page));
}

}  // namespace

std::string describe_warning(CompletenessWarning warning) {
  if (warning == CompletenessWarning::none) return {};
  // Without numbers and times: a different text is logged again.
  if (warning == CompletenessWarning::future_timestamps)
    return "a full page ends with events dated in the future; later ones are read when this machine's clock "
           "reaches those times; check which of the two clocks is wrong";
  const std::string_view what =
      warning == CompletenessWarning::newest_first
          ? "a full page begins with the newest event; older events that did not fit it are missed"
      : warning == CompletenessWarning::single_timestamp
          ? "a full page has events of one time only; further events of that time are missed"
          : "a full page has no event newer than its `since`; later events may be missed";
  return fmt::format(
      "{}; unless all events fit one page, request larger pages in its url, or set cursor or next", what);
}

std::string config_fingerprint(const CompiledSource& source) {
  // Names every setting, so that a new one does not compile until it is decided here whether it changes how
  // the feed is requested or read. Those unused below do not.
  const auto& [name, kind, preset, signature, signature_header, secrets, topic, external, allots_ids, may_set,
               fields, items, status_map, url, interval_seconds, cursor_pointer, cursor_parameter, since,
               overlap_seconds, next, headers, ca_file] = source.settings;
  std::vector<std::string> all{url, cursor_pointer, cursor_parameter, since, next, ca_file, items};
  for (const sync::EventField field : sync::kEventFields) all.push_back(pointer_of(fields, field));
  all.insert(all.end(),
             {source.rules.gift_source, std::to_string(interval_seconds), std::to_string(overlap_seconds)});
  if (source.rules.allots_ids) all.emplace_back("allot");
  for (const auto& [header, secret] : headers) all.insert(all.end(), {header, secret.reveal()});
  return platform::to_hex(platform::hmac_sha256(source.installation, joined_with_lengths(all)))
      .substr(0, kFingerprintDigits);
}

std::string pointers_fingerprint(const CompiledSource& source) {
  std::string all = source.settings.items;
  for (const sync::EventField field : sync::kEventFields)
    all += " " + pointer_of(source.settings.fields, field);
  return platform::to_hex(platform::sha256(all)).substr(0, kFingerprintDigits);
}

void apply_config_fingerprint(PollCursor& cursor_state, const std::string& fingerprint) {
  if (cursor_state.config_fingerprint == fingerprint) return;
  cursor_state.config_fingerprint = fingerprint;
  cursor_state.cached_pages.clear();
  cursor_state.max_page_events = 0;
  cursor_state.warning = CompletenessWarning::none;
  cursor_state.is_overlap_complete = false;
  restart_run(cursor_state);
}

void restart_run(PollCursor& cursor_state) {
  cursor_state.next.clear();
  cursor_state.began_at.reset();
  cursor_state.latest.reset();
  cursor_state.from.reset();
  cursor_state.near_present_at.reset();
}

std::string page_url(const CompiledSource& source, const PollCursor& cursor_state) {
  const config::SourceSettings& settings = source.settings;
  if (!cursor_state.next.empty() && platform::is_same_origin(settings.url, cursor_state.next))
    return cursor_state.next;
  if (!settings.cursor_parameter.empty() && !cursor_state.cursor.empty())
    return platform::with_query_parameter(settings.url, settings.cursor_parameter, cursor_state.cursor);
  const Time from = request_from(source, cursor_state);
  if (settings.since.empty() || !from) return settings.url;
  // Where `since` means "after", other events of the same time would be skipped: a page may end between them.
  const std::int64_t margin_millis = cursor_state.from ? 1 : 0;
  return platform::with_query_parameter(settings.url, settings.since,
                                        platform::to_rfc3339(*from - margin_millis));
}

const CachedPage* find_cached_page(const PollCursor& cursor_state, const std::string& url) {
  const auto found = std::find_if(cursor_state.cached_pages.begin(), cursor_state.cached_pages.end(),
                                  [&](const CachedPage& one) { return one.url == url; });
  return found == cursor_state.cached_pages.end() ? nullptr : &*found;
}

tl::expected<PollPage, std::string> read_page(const CompiledSource& source, const PollCursor& before,
                                              const std::string& url,
                                              const platform::HttpGetResponse& response,
                                              const PageTimestamps& times) {
  const auto document = platform::parse_json(response.body, kSourceJson);
  if (!document) return tl::make_unexpected(describe_json_error(document.error()));
  auto events = extract_events(document->root(), source);
  if (!events) return tl::make_unexpected(describe(events.error()));
  const Continuation cursor = next_cursor(source, document->root());
  if (!cursor) return tl::make_unexpected(cursor.error());
  const Continuation next = next_url(source, document->root(), url, response);
  if (!next) return tl::make_unexpected(next.error());
  PollPage page{std::move(*events), with_run_started(before, times), !next->empty()};
  const Time latest = latest_event_time(page.events, times.received_at);
  update_latest(source, page.after, latest, times.requested_at);
  page.after.next = *next;
  if (!source.settings.cursor_pointer.empty())
    page.has_more = !cursor->empty() && *cursor != before.cursor && !page.events.empty();
  if (!cursor->empty()) page.after.cursor = *cursor;
  if (pages_by_time(source)) {
    continue_by_time(source, before, page, {url, response.etag, latest}, times.received_at);
  } else {
    page.after.cached_pages.clear();
    const bool is_single = !page.has_more && before.next.empty();
    if (is_single) cache_page(page.after, {url, response.etag, latest});
  }
  if (!page.has_more) finish_run(source, page.after, times.received_at);
  return page;
}

PollPage empty_page(const CompiledSource& source, const PollCursor& before, const PageTimestamps& times) {
  PollPage page;
  page.after = with_run_started(before, times);
  if (!pages_by_time(source)) page.after.cached_pages.clear();
  finish_run(source, page.after, times.received_at);
  return page;
}

PollPage unchanged_page(const CompiledSource& source, const PollCursor& before, const std::string& url,
                        const PageTimestamps& times) {
  PollPage page;
  page.after = with_run_started(before, times);
  const CachedPage* const cached_page = find_cached_page(before, url);
  if (cached_page != nullptr && pages_by_time(source)) {
    update_latest(source, page.after, cached_page->latest, times.requested_at);
    page.has_more = may_be_truncated(
        before, page.after,
        {request_from(source, before), cached_page->latest, before.max_page_events, before.max_page_events});
    if (page.has_more) page.after.from = cached_page->latest;
  }
  if (!page.has_more) finish_run(source, page.after, times.received_at);
  return page;
}

}  // namespace giftsync::daemon::sources
