#include "daemon/sources/poll_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/sources/event_extraction.h"
#include "platform/digest.h"
#include "platform/text.h"
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
  if (page.etag.empty() || page.etag.size() > kMaxEtagBytes) return;
  cursor_state.cached_pages.push_back(std::move(page));
  if (cursor_state.cached_pages.size() > kMaxCachedPages)
    cursor_state.cached_pages.erase(cursor_state.cached_pages.begin());
}

PollCursor with_run_started(const CompiledSource& source, const PollCursor& before,
                            const PageTimestamps& times) {
  PollCursor cursor_state = before;
  const bool had_position = before.next.empty() && page_url(source, before) != source.settings.url;
  if (had_position) cursor_state.refusals = 0;  // it was accepted
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

/// The cursor or link that leads to the next page, empty on the last one; or why it cannot be followed.
using Continuation = tl::expected<std::string, std::string>;

Continuation unusable(const CompiledSource& source, std::string_view found, std::string_view allowed) {
  return tl::make_unexpected(
      fmt::format("{} finds {}; allowed: {}, and null, false or nothing on the last page",
                  continuation_setting(source), found, allowed));
}

/// Another kind of value is a fault: taken for the end, it would hide all further pages (SRC-39).
Continuation continuation_at(const CompiledSource& source, const platform::JsonValue& root) {
  const bool is_link = source.settings.cursor_pointer.empty();
  const std::string& pointer = is_link ? source.settings.next : source.settings.cursor_pointer;
  const platform::JsonValue* value = platform::JsonPointer::parse(pointer)->resolve(root);
  if (value == nullptr || value->is_null() || value->boolean() == false) return "";
  const std::string_view allowed = is_link ? "a URL" : "text or a number";
  if (value->is_array() || value->is_object()) return unusable(source, value->kind_name(), allowed);
  if (value->boolean()) return unusable(source, "true", allowed);
  if (is_link && value->integer() == 0) return "";  // 0 is no page's URL
  if (is_link && !value->text()) return unusable(source, value->kind_name(), allowed);
  std::string text = scalar_text(*value);
  if (text.size() > kMaxCursorBytes)
    return tl::make_unexpected(fmt::format("its {} has more than {} bytes",
                                           is_link ? "link to the next page" : "cursor", kMaxCursorBytes));
  return text;
}

/// A link that leads elsewhere is a fault.
Continuation next_url(const CompiledSource& source, const platform::JsonValue& root, const std::string& url,
                      const platform::HttpGetResponse& response) {
  Continuation reference =
      source.settings.next == "link" ? platform::next_link_url(response.link) : continuation_at(source, root);
  if (!reference || reference->empty()) return reference;
  const std::string target = platform::resolve_url(url, *reference);
  if (target.empty() || target.size() > kMaxCursorBytes)
    return tl::make_unexpected("its link to the next page is not a URL");
  Continuation next = platform::within_origin(source.settings.url, target);
  if (!next) return tl::make_unexpected("its link to the next page leads " + next.error());
  if (*next == url) return tl::make_unexpected("its link to the next page leads to the same page");
  return next;
}

/// Names under which vendors give the next page.
bool is_name_of_next(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames{"next",    "nextpage",     "nextpageurl", "nextpagetoken",
                                                    "nexturl", "nextlink",     "nextcursor",  "nexttoken",
                                                    "nexturi", "odatanextlink"};
  std::string letters = platform::ascii_lower(name);
  std::erase_if(letters, [](char c) { return c < 'a' || c > 'z'; });
  return std::find(kNames.begin(), kNames.end(), letters) != kNames.end();
}

/// The pointer to a text outside `items` whose name says that it leads to the next page; empty: there is
/// none.
std::string pointer_to_next(const platform::JsonValue& value, const platform::JsonValue* items,
                            int levels = 3) {
  if (&value == items || levels == 0) return {};
  for (const platform::JsonMember& member : value.members()) {
    if (member.name.find_first_of("~/") != std::string_view::npos) continue;
    std::string pointer = "/" + std::string(member.name);
    if (is_name_of_next(member.name) && !member.value.text().value_or("").empty()) return pointer;
    if (is_name_of_next(member.name) && !member.value.text_of("href").empty()) return pointer + "/href";
    if (std::string below = pointer_to_next(member.value, items, levels - 1); !below.empty())
      return pointer + below;
  }
  return {};
}

/// Where the page names a next one, whatever the settings say: "at /paging/next"; empty: nowhere.
std::string place_of_next(const CompiledSource& source, const platform::JsonValue& root,
                          const platform::HttpGetResponse& response) {
  const std::string pointer = pointer_to_next(root, source.items->resolve(root));
  if (!pointer.empty()) return "at " + pointer;
  return platform::next_link_url(response.link).empty() ? "" : "in its Link header (next: link)";
}

/// It is a fault too that the settings find nothing, as they never did, on a page that names a next one
/// elsewhere (SRC-40).
Continuation continuation_of(const CompiledSource& source, const PollCursor& before,
                             const platform::JsonValue& root, const std::string& url,
                             const platform::HttpGetResponse& response) {
  const std::string setting = continuation_setting(source);
  if (setting.empty()) return "";
  Continuation next =
      source.settings.next.empty() ? continuation_at(source, root) : next_url(source, root, url, response);
  if (!next || !next->empty() || before.found_by == setting) return next;
  const std::string place = place_of_next(source, root, response);
  if (place.empty()) return next;
  return tl::make_unexpected(fmt::format(
      "{} finds nothing, but the page names a next one {}; correct the setting and reload", setting, place));
}

/// Of a poll of a single page.
std::string warn_of_next(const CompiledSource& source, const platform::JsonValue& root,
                         const platform::HttpGetResponse& response) {
  const std::string place = place_of_next(source, root, response);
  if (place.empty()) return {};
  return fmt::format("the page names a next one {}, which is not read: neither next nor cursor is set",
                     place);
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
                      const TimePage& facts, CachedPage cached_page) {
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

/// Continues with the page's cursor or link, or ends the run. `order` includes the page.
void continue_by_page(const CompiledSource& source, const PollCursor& before, PollPage& page,
                      const std::string& next, const FeedOrder& order) {
  if (!next.empty()) page.after.found_by = continuation_setting(source);
  page.after.cached_pages.clear();
  if (source.settings.cursor_pointer.empty()) {
    page.after.next = next;
    page.has_more = !next.empty();
    return;
  }
  page.after.order = order;
  const bool is_new_cursor = !next.empty() && next != before.cursor;
  page.has_more = is_new_cursor && !page.events.empty();
  if (is_new_cursor) page.after.cursor = next;
  // An empty page with a new cursor is not the end: the next run goes on behind it.
  if (is_new_cursor || grows_at_end(order, page.events.empty())) return;
  page.after.cursor.clear();
  page.after.order = {};
  if (order.pages > kFewPages && !is_descending(order))
    page.warning = fmt::format(
        "the times on its {} pages show no order, so each run reads all; request an ascending order in its "
        "url",
        order.pages);
}

}  // namespace

std::string continuation_setting(const CompiledSource& source) {
  const config::SourceSettings& settings = source.settings;
  if (!settings.cursor_pointer.empty()) return fmt::format("cursor.pointer ({})", settings.cursor_pointer);
  return settings.next.empty() ? "" : fmt::format("next ({})", settings.next);
}

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
  cursor_state.refusals = 0;  // of other requests
  restart_run(cursor_state);
}

PollCursor begun_again(const PollCursor& cursor_state) {
  PollCursor beginning;
  beginning.config_fingerprint = cursor_state.config_fingerprint;
  beginning.verified_pointers = cursor_state.verified_pointers;
  beginning.consecutive_unreadable_pages = cursor_state.consecutive_unreadable_pages;
  beginning.unreadable_fingerprints = cursor_state.unreadable_fingerprints;
  beginning.found_by = cursor_state.found_by;
  beginning.refusals = kMaxRefusals + 1;
  return beginning;
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
  PollPage page{std::move(*events), with_run_started(source, before, times)};
  FeedOrder order = before.order;
  const TimePage facts = time_page_of(page.events, times.received_at, order);
  update_latest(source, page.after, facts.newest, times.requested_at);
  CachedPage cached_page{url, response.etag, facts.newest};
  if (pages_by_time(source)) {
    continue_by_time(source, before, page, facts, std::move(cached_page));
  } else {
    const Continuation next = continuation_of(source, before, document->root(), url, response);
    if (next) {
      continue_by_page(source, before, page, *next, order);
      if (continuation_setting(source).empty())
        page.warning = warn_of_next(source, document->root(), response);
      const bool is_requested_next = !page.has_more && page_url(source, page.after) == url;
      if (is_requested_next && page.warning.empty()) cache_page(page.after, std::move(cached_page));
    } else {
      page.fault = next.error();
      page.after = before;
      restart_run(page.after);  // new events may be on its first pages
    }
  }
  if (!page.has_more && page.fault.empty()) finish_run(source, page.after, times.received_at);
  return page;
}

PollPage empty_page(const CompiledSource& source, const PollCursor& before, const PageTimestamps& times) {
  PollPage page;
  page.after = with_run_started(source, before, times);
  if (!pages_by_time(source)) continue_by_page(source, before, page, "", before.order);
  finish_run(source, page.after, times.received_at);
  return page;
}

PollPage unchanged_page(const CompiledSource& source, const PollCursor& before, const std::string& url,
                        const PageTimestamps& times) {
  PollPage page;
  page.after = with_run_started(source, before, times);
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
