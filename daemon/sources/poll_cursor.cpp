#include "daemon/sources/poll_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "daemon/sources/event_extraction.h"
#include "daemon/sources/poll_contract.h"
#include "platform/digest.h"
#include "sync/status_rules.h"

namespace giftsync::daemon::sources {
namespace {

constexpr std::size_t kMaxCursorBytes = 8'192;
/// 32 bits: an edit is missed once in four billion times, and many secrets share a fingerprint.
constexpr std::size_t kFingerprintDigits = 8;
/// A poll by time without news requests two pages: the overlap and what follows it.
constexpr std::size_t kMaxCachedPages = 2;

using Time = std::optional<platform::UtcMillis>;  // of those, the later one is std::max: absent is earliest

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
  cursor_state.newest = std::max(cursor_state.newest, latest);
  const bool reaches_overlap =
      *latest > requested_at - source.settings.overlap_seconds * platform::kSecondMillis;
  if (reaches_overlap && !cursor_state.overlap_reached_at) cursor_state.overlap_reached_at = requested_at;
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

/// Events committed late during the run are found by the next one: its overlap begins where this run reached
/// into the overlap, not at its last event (SRC-49).
void finish_run(const CompiledSource& source, PollCursor& cursor_state, platform::UtcMillis now) {
  Time last = cursor_state.latest;
  if (last && cursor_state.overlap_reached_at) last = std::min(last, cursor_state.overlap_reached_at);
  const Time since = std::max(cursor_state.since, last);
  const std::int64_t overlap_millis = source.settings.overlap_seconds * platform::kSecondMillis;
  if (since != cursor_state.since || !cursor_state.since_advanced_at) {
    cursor_state.since_advanced_at = now;
    cursor_state.is_overlap_complete = false;
  } else if (cursor_state.began_at &&
             *cursor_state.began_at >= *cursor_state.since_advanced_at + overlap_millis) {
    cursor_state.is_overlap_complete = true;
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
  Continuation reference = next_setting == "link" ? platform::next_link_url(response.link)
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

std::string describe_json_error(const platform::JsonError& error) {
  if (error.code == "too_many_values" || error.code == "too_long")
    return "its page is too large: " + error.message + " Request smaller pages in its url.";
  return "not JSON: " + error.message +
         " After a look at it, giftsyncctl source set-cursor continues behind it.";
}

/// Sets where a run by time continues after a page, and the cached page; or the fault, and `after` as it was.
void continue_by_time(const CompiledSource& source, const PollCursor& before, PollPage& page,
                      CachedPage cached_page, platform::UtcMillis now) {
  const TimePage facts = time_page_of(page.events, now);
  const std::int64_t page_size = source.settings.page_size;
  const TimePageDecision decision = decide_time_page(
      {request_from(source, before), std::max(before.newest, before.since)}, facts, page_size);
  if (decision.fault != ContractFault::none) {
    page.fault = describe_fault(decision.fault, facts, page_size);
    page.after = before;
    return;
  }
  page.has_more = decision.next_from.has_value();
  page.after.from = decision.next_from;
  cached_page.has_next = page.has_more;
  cache_page(page.after, std::move(cached_page));
}

}  // namespace

bool pages_by_time(const CompiledSource& source) {
  return !source.settings.since.empty() && source.settings.next.empty();
}

std::string config_fingerprint(const CompiledSource& source) {
  // Names every setting, so that a new one does not compile until it is decided here whether it changes how
  // the feed is requested or read. Those unused below do not.
  const auto& [name, kind, preset, signature, signature_header, secrets, allow_short_secrets, topic, external,
               allots_ids, may_set, fields, items, status_map, url, interval_seconds, cursor_pointer,
               cursor_parameter, since, page_size, overlap_seconds, next, headers, ca_file] = source.settings;
  std::vector<std::string> all{url, cursor_pointer, cursor_parameter, since, next, ca_file, items};
  for (const sync::EventField field : sync::kEventFields) all.push_back(pointer_of(fields, field));
  all.insert(all.end(),
             {source.rules.gift_source, std::to_string(interval_seconds), std::to_string(overlap_seconds)});
  if (page_size > 0) all.push_back(std::to_string(page_size));
  if (source.rules.allots_ids) all.emplace_back("allot");
  for (const auto& [header, secret] : headers) all.insert(all.end(), {header, secret.reveal()});
  return platform::to_hex(platform::hmac_sha256(source.installation, joined_with_lengths(all)))
      .substr(0, kFingerprintDigits);
}

std::string pointers_fingerprint(const CompiledSource& source) {
  std::string all = source.settings.items;
  for (const sync::EventField field : sync::kEventFields)
    all += " " + pointer_of(source.settings.fields, field);
  return platform::sha256_hex(all).substr(0, kFingerprintDigits);
}

void apply_config_fingerprint(PollCursor& cursor_state, const std::string& fingerprint) {
  if (cursor_state.config_fingerprint == fingerprint) return;
  cursor_state.config_fingerprint = fingerprint;
  cursor_state.cached_pages.clear();
  cursor_state.is_overlap_complete = false;
  restart_run(cursor_state);
}

void restart_run(PollCursor& cursor_state) {
  cursor_state.next.clear();
  cursor_state.began_at.reset();
  cursor_state.latest.reset();
  cursor_state.from.reset();
  cursor_state.overlap_reached_at.reset();
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
  return platform::with_query_parameter(settings.url, settings.since, platform::to_rfc3339(*from - 1));
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
  const auto document = platform::parse_lenient_json(response.body);
  if (!document) return tl::make_unexpected(describe_json_error(document.error()));
  auto events = extract_events(document->root(), source);
  if (!events) return tl::make_unexpected(describe(events.error()));
  const Continuation cursor = next_cursor(source, document->root());
  if (!cursor) return tl::make_unexpected(cursor.error());
  const Continuation next = next_url(source, document->root(), url, response);
  if (!next) return tl::make_unexpected(next.error());
  PollPage page{std::move(*events), with_run_started(before, times), !next->empty(), {}};
  const Time latest = time_page_of(page.events, times.received_at).newest;
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
  if (!page.has_more && page.fault.empty()) finish_run(source, page.after, times.received_at);
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
    page.has_more = cached_page->has_next;
    if (page.has_more) page.after.from = cached_page->latest;
  }
  if (!page.has_more) finish_run(source, page.after, times.received_at);
  return page;
}

}  // namespace giftsync::daemon::sources
