#include "daemon/sources/poll_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/sources/event_classifier.h"
#include "daemon/sources/event_extraction.h"
#include "platform/digest.h"
#include "schema/enum_words.h"
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

constexpr auto kCompletenessWarningNames =
    schema::enum_words<CompletenessWarning>({{CompletenessWarning::none, "none"},
                                             {CompletenessWarning::newest_first, "newest_first"},
                                             {CompletenessWarning::no_later_event, "no_later_event"},
                                             {CompletenessWarning::single_timestamp, "single_timestamp"},
                                             {CompletenessWarning::future_timestamps, "future_timestamps"}});

std::optional<platform::UtcMillis> later_of(std::optional<platform::UtcMillis> a,
                                            std::optional<platform::UtcMillis> b) {
  if (!a || !b) return a ? a : b;
  return std::max(*a, *b);
}

/// The last believable time of the page, never in the future: a future time must not skip earlier events
/// (SRC-45).
std::optional<platform::UtcMillis> latest_event_time(const std::vector<InboundEvent>& events,
                                                     platform::UtcMillis now) {
  std::optional<platform::UtcMillis> latest;
  for (const InboundEvent& event : events) {
    const auto time = parse_event_time(event[EventField::occurred_at]);
    if (time && *time <= now && sync::time_error(*time, now).empty()) latest = later_of(latest, time);
  }
  return latest;
}

/// Its pages do not name the next one; the next start follows from the events' times (SRC-46).
bool pages_by_time(const CompiledSource& source) {
  return !source.settings.since.empty() && source.settings.next.empty();
}

/// Start of the time range of the next page; empty: from the beginning.
std::optional<platform::UtcMillis> request_from(const CompiledSource& source,
                                                const PollCursor& cursor_state) {
  if (cursor_state.from || !cursor_state.since) return cursor_state.from;
  if (cursor_state.is_overlap_complete) return cursor_state.since;
  return *cursor_state.since - source.settings.overlap_seconds * platform::kSecondMillis;
}

void update_latest(const CompiledSource& source, PollCursor& cursor_state,
                   std::optional<platform::UtcMillis> latest, platform::UtcMillis requested_at) {
  if (!latest) return;
  cursor_state.latest = later_of(cursor_state.latest, latest);
  const std::int64_t close_seconds =
      std::max(source.settings.overlap_seconds, source.settings.interval_seconds);
  const bool is_close = *latest > requested_at - close_seconds * platform::kSecondMillis;
  if (is_close && !cursor_state.near_present_at) cursor_state.near_present_at = requested_at;
}

/// What a page of a poll by time shows about its feed.
struct PageExtent {
  std::optional<platform::UtcMillis> latest;
  std::int64_t count = 0;
  std::int64_t newer = 0;  ///< events later than the page's start
};

PageExtent page_extent(const std::vector<InboundEvent>& events, std::optional<platform::UtcMillis> latest,
                       std::optional<platform::UtcMillis> from) {
  const auto count = static_cast<std::int64_t>(events.size());
  if (!from) return {latest, count, count};
  const auto newer = std::count_if(events.begin(), events.end(), [&](const InboundEvent& event) {
    const auto time = parse_event_time(event[EventField::occurred_at]);
    return time && *time > *from;
  });
  return {latest, count, static_cast<std::int64_t>(newer)};
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
bool may_be_truncated(const CompiledSource& source, const PollCursor& before, const PollCursor& after,
                      const PageExtent& page) {
  const auto from = request_from(source, before);
  if (!page.latest || (from && *page.latest <= *from)) return false;
  if (after.near_present_at && *page.latest >= *after.near_present_at) return false;
  if (before.since && *page.latest <= *before.since) return true;
  return !has_little_new(page, after.max_page_events) &&
         !(after.near_present_at && page.count < after.max_page_events);
}

bool is_full(const PollCursor& before, const std::vector<InboundEvent>& events) {
  return static_cast<std::int64_t>(events.size()) >= std::max(before.max_page_events, kMinFullPageEvents);
}

/// Largest difference between the requested time and the times on the page if the vendor truncates nothing.
constexpr std::int64_t kTimestampSlackMillis = 2;

/// The time of a full page whose events all have one time, the requested one: more events of that time cannot
/// be requested, but later ones can (SRC-50). Absent for any other page.
std::optional<platform::UtcMillis> single_timestamp_of(const CompiledSource& source, const PollCursor& before,
                                                       const std::vector<InboundEvent>& events) {
  const auto from = request_from(source, before);
  if (!from || !is_full(before, events)) return std::nullopt;
  const auto time = parse_event_time(events.front()[EventField::occurred_at]);
  if (!time || *time > *from || *time + kTimestampSlackMillis < *from) return std::nullopt;
  const bool is_single = std::all_of(events.begin(), events.end(), [&](const InboundEvent& event) {
    return parse_event_time(event[EventField::occurred_at]) == time;
  });
  return is_single ? time : std::nullopt;
}

/// A time after `time`, whether `since` means "after" or "from". A vendor that returns the same page again
/// truncates to seconds.
platform::UtcMillis just_after(platform::UtcMillis time, platform::UtcMillis requested_from) {
  return time + (requested_from > time ? platform::kSecondMillis + 1 : kTimestampSlackMillis);
}

/// The warning after this page. An earlier warning stays until a page disproves it: missed events stay
/// missed, and the next page does not show them (SRC-51).
CompletenessWarning warning_after(const CompiledSource& source, const PollCursor& before,
                                  const std::vector<InboundEvent>& events,
                                  std::optional<platform::UtcMillis> latest, platform::UtcMillis now) {
  const auto count = static_cast<std::int64_t>(events.size());
  if (is_full(before, events)) {
    const auto first = parse_event_time(events.front()[EventField::occurred_at]);
    const auto last = parse_event_time(events.back()[EventField::occurred_at]);
    if (first && last && *first > *last && (!before.since || *last > *before.since))
      return CompletenessWarning::newest_first;
  }
  // A page with more events proves that the page before was not full, or that pages are larger now.
  const bool has_unreachable_events = before.warning == CompletenessWarning::newest_first ||
                                      before.warning == CompletenessWarning::single_timestamp;
  if (has_unreachable_events && count <= before.max_page_events) return before.warning;
  const auto from = request_from(source, before);
  const bool has_newer_event = !from || (latest && *latest > *from);
  if (has_newer_event) return has_unreachable_events ? CompletenessWarning::none : before.warning;
  const bool has_future_timestamps =
      std::any_of(events.begin(), events.end(), [now](const InboundEvent& event) {
        const auto time = parse_event_time(event[EventField::occurred_at]);
        return time && *time > now;
      });
  if (is_full(before, events))
    return has_future_timestamps ? CompletenessWarning::future_timestamps
                                 : CompletenessWarning::no_later_event;
  return count < before.max_page_events ? CompletenessWarning::none : before.warning;
}

void drop_cached_page(PollCursor& cursor_state, const std::string& url) {
  std::erase_if(cursor_state.cached_pages, [&](const CachedPage& one) { return one.url == url; });
}

void cache_page(PollCursor& cursor_state, CachedPage page) {
  drop_cached_page(cursor_state, page.url);
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
  std::optional<platform::UtcMillis> last = cursor_state.latest;
  if (last && cursor_state.near_present_at) last = std::min(*last, *cursor_state.near_present_at);
  const auto since = later_of(cursor_state.since, last);
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

/// The value that leads to the next page, for the setting `key`; empty: this was the last page. Sets `error`
/// when the pointer finds another kind of value: taken for the end, it would hide all further pages (SRC-39).
std::string continuation_at(const platform::JsonValue& root, std::string_view key, const std::string& pointer,
                            std::string& error) {
  const platform::JsonValue* value = platform::JsonPointer::parse(pointer)->resolve(root);
  if (value == nullptr || value->is_null()) return {};
  if (!value->is_array() && !value->is_object() && !value->boolean()) return scalar_text(*value);
  error = fmt::format("{} ({}) finds {}; allowed: text or a number, and null or nothing on the last page",
                      key, pointer, value->kind_name());
  return {};
}

/// Empty: this was the last page. Sets `error` when the link is unusable or leads to another host.
std::string next_url(const CompiledSource& source, const platform::JsonValue& root, const std::string& url,
                     const platform::HttpGetResponse& response, std::string& error) {
  const std::string& next_setting = source.settings.next;
  if (next_setting.empty()) return {};
  const std::string reference = next_setting == "link" ? platform::next_link_url(response.link)
                                                       : continuation_at(root, "next", next_setting, error);
  if (reference.empty()) return {};
  const std::string next = platform::resolve_url(url, reference);
  if (next.empty() || next.size() > kMaxCursorBytes)
    error = "its link to the next page is not a URL";
  else if (!platform::is_same_origin(source.settings.url, next))
    error = "its link to the next page leads to another host";
  else if (next == url)
    error = "its link to the next page leads to the same page";
  return error.empty() ? next : std::string();
}

std::string string_member(const nlohmann::json& json, const char* name) {
  return json.contains(name) && json[name].is_string() ? json[name].get<std::string>() : std::string();
}

std::optional<platform::UtcMillis> time_member(const nlohmann::json& json, const char* name) {
  if (!json.contains(name) || !json[name].is_number_integer()) return std::nullopt;
  return platform::UtcMillis{json[name].get<std::int64_t>()};
}

std::string describe_too_many(const TooManyEvents& many) {
  return "its page holds " + std::to_string(many.found) + " events; allowed: at most " +
         std::to_string(kMaxEvents) + "; request smaller pages in its url";
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
  const auto from = request_from(source, before);
  const PageExtent extent = page_extent(page.events, cached_page.latest, from);
  page.after.max_page_events = std::max(before.max_page_events, extent.count);
  const auto single_timestamp = single_timestamp_of(source, before, page.events);
  if (single_timestamp) {
    page.has_more = true;
    page.after.from = just_after(*single_timestamp, *from);
    page.after.warning = CompletenessWarning::single_timestamp;
    cached_page.etag.clear();  // a 304 would be taken for the end
  } else {
    page.has_more = may_be_truncated(source, before, page.after, extent);
    if (page.has_more) page.after.from = cached_page.latest;
    page.after.warning = warning_after(source, before, page.events, cached_page.latest, now);
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

std::string serialize(const PollCursor& cursor_state) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!cursor_state.cursor.empty()) json["cursor"] = cursor_state.cursor;
  if (cursor_state.since) json["since"] = cursor_state.since->value;
  if (cursor_state.since_advanced_at) json["since_advanced_at"] = cursor_state.since_advanced_at->value;
  if (cursor_state.is_overlap_complete) json["overlap_complete"] = true;
  if (cursor_state.began_at) json["began_at"] = cursor_state.began_at->value;
  if (cursor_state.latest) json["latest"] = cursor_state.latest->value;
  if (cursor_state.from) json["from"] = cursor_state.from->value;
  if (cursor_state.near_present_at) json["near_present_at"] = cursor_state.near_present_at->value;
  if (!cursor_state.next.empty()) json["next"] = cursor_state.next;
  for (const CachedPage& page : cursor_state.cached_pages) {
    nlohmann::ordered_json cached_page{{"url", page.url}, {"etag", page.etag}};
    if (page.latest) cached_page["latest"] = page.latest->value;
    json["cached_pages"].push_back(std::move(cached_page));
  }
  if (cursor_state.max_page_events > 0) json["max_page_events"] = cursor_state.max_page_events;
  if (cursor_state.warning != CompletenessWarning::none)
    json["warning"] = kCompletenessWarningNames.word_of(cursor_state.warning);
  if (!cursor_state.config_fingerprint.empty()) json["config_fingerprint"] = cursor_state.config_fingerprint;
  if (!cursor_state.verified_pointers.empty()) json["verified_pointers"] = cursor_state.verified_pointers;
  if (cursor_state.consecutive_unreadable_pages > 0)
    json["consecutive_unreadable_pages"] = cursor_state.consecutive_unreadable_pages;
  if (!cursor_state.unreadable_fingerprints.empty())
    json["unreadable_fingerprints"] = cursor_state.unreadable_fingerprints;
  if (cursor_state.has_retry_after) json["has_retry_after"] = true;
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

PollCursor parse_poll_cursor(const std::string& text) {
  PollCursor cursor_state;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return cursor_state;
  const auto string_at = [&](const char* name) { return string_member(json, name); };
  const auto time = [&](const char* name) { return time_member(json, name); };
  cursor_state.cursor = string_at("cursor");
  cursor_state.since = time("since");
  cursor_state.since_advanced_at = time("since_advanced_at");
  cursor_state.is_overlap_complete = json.value("overlap_complete", nlohmann::json()) == true;
  cursor_state.began_at = time("began_at");
  cursor_state.latest = time("latest");
  cursor_state.from = time("from");
  cursor_state.near_present_at = time("near_present_at");
  cursor_state.next = string_at("next");
  if (json.contains("cached_pages") && json["cached_pages"].is_array()) {
    for (const auto& page : json["cached_pages"])
      cache_page(cursor_state,
                 {string_member(page, "url"), string_member(page, "etag"), time_member(page, "latest")});
  }
  if (json.contains("max_page_events") && json["max_page_events"].is_number_integer())
    cursor_state.max_page_events = json["max_page_events"].get<std::int64_t>();
  cursor_state.warning =
      kCompletenessWarningNames.parse(string_at("warning")).value_or(CompletenessWarning::none);
  cursor_state.config_fingerprint = string_at("config_fingerprint");
  cursor_state.verified_pointers = string_at("verified_pointers");
  if (json.contains("consecutive_unreadable_pages") &&
      json["consecutive_unreadable_pages"].is_number_integer())
    cursor_state.consecutive_unreadable_pages = json["consecutive_unreadable_pages"].get<std::int64_t>();
  cursor_state.has_retry_after = json.value("has_retry_after", nlohmann::json()) == true;
  if (json.contains("unreadable_fingerprints") && json["unreadable_fingerprints"].is_array()) {
    for (const auto& fingerprint : json["unreadable_fingerprints"]) {
      if (fingerprint.is_string())
        cursor_state.unreadable_fingerprints.push_back(fingerprint.get<std::string>());
    }
  }
  return cursor_state;
}

std::string config_fingerprint(const CompiledSource& source) {
  // Names every setting, so that a new one does not compile until it is decided here whether it changes how
  // the feed is requested or read. Those unused below do not.
  const auto& [name, kind, preset, signature, signature_header, secrets, topic, external, may_set, fields,
               items, status_map, url, interval_seconds, cursor_pointer, cursor_parameter, since,
               overlap_seconds, next, headers, ca_file] = source.settings;
  std::string all;
  const auto add = [&all](const std::string& text) { all += std::to_string(text.size()) + ":" + text; };
  for (const std::string& text : {url, cursor_pointer, cursor_parameter, since, next, ca_file, items})
    add(text);
  for (const FieldMapping& one : kFieldMappings) add(fields.*one.pointer);
  add(source.gift_source);
  add(std::to_string(interval_seconds));
  add(std::to_string(overlap_seconds));
  for (const auto& [header, secret] : headers) {
    add(header);
    add(secret.reveal());
  }
  return platform::to_hex(platform::hmac_sha256(source.installation, all)).substr(0, kFingerprintDigits);
}

std::string pointers_fingerprint(const CompiledSource& source) {
  std::string all = source.settings.items;
  for (const FieldMapping& one : kFieldMappings) all += " " + source.settings.fields.*one.pointer;
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
  const auto from = request_from(source, cursor_state);
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

std::variant<PollPage, std::string> read_page(const CompiledSource& source, const PollCursor& before,
                                              const std::string& url,
                                              const platform::HttpGetResponse& response,
                                              const PageTimestamps& times) {
  const auto document = platform::parse_json(response.body, kSourceJson);
  if (!document) return describe_json_error(document.error());
  const platform::JsonValue& root = document->root();
  auto extracted = extract_events(root, source);
  if (const auto* many = std::get_if<TooManyEvents>(&extracted)) return describe_too_many(*many);
  if (auto* error = std::get_if<std::string>(&extracted)) return std::move(*error);
  PollPage page;
  page.events = std::move(std::get<std::vector<InboundEvent>>(extracted));
  page.after = with_run_started(before, times);
  const auto latest = latest_event_time(page.events, times.received_at);
  update_latest(source, page.after, latest, times.requested_at);
  std::string error;
  page.after.next = next_url(source, root, url, response, error);
  page.has_more = !page.after.next.empty();
  if (!source.settings.cursor_pointer.empty()) {
    const std::string cursor = continuation_at(root, "cursor.pointer", source.settings.cursor_pointer, error);
    if (cursor.size() > kMaxCursorBytes)
      return "its cursor has more than " + std::to_string(kMaxCursorBytes) + " bytes";
    page.has_more = !cursor.empty() && cursor != before.cursor && !page.events.empty();
    if (!cursor.empty()) page.after.cursor = cursor;
  }
  if (!error.empty()) return error;
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
    page.has_more = may_be_truncated(source, before, page.after,
                                     {cached_page->latest, before.max_page_events, before.max_page_events});
    if (page.has_more) page.after.from = cached_page->latest;
  }
  if (!page.has_more) finish_run(source, page.after, times.received_at);
  return page;
}

}  // namespace giftsync::daemon::sources
