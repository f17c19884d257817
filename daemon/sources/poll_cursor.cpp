#include "daemon/sources/poll_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "daemon/sources/kept_event.h"
#include "platform/digest.h"
#include "platform/json.h"
#include "platform/text.h"
#include "sync/status/status_rules.h"

namespace giftsync::sources {
namespace {

/// More than chance: of events in no order a few are later, and as few earlier, than all before them.
bool predominates(std::int64_t count, std::int64_t opposite) {
  constexpr std::int64_t kMinEvents = 3;
  return count >= 2 * opposite + kMinEvents;
}

void add_time(FeedOrder& order, UtcMillis time) {
  if (order.latest && time > *order.latest) ++order.later;
  if (order.earliest && time < *order.earliest) ++order.earlier;
  order.latest = std::max(order.latest.value_or(time), time);
  order.earliest = std::min(order.earliest.value_or(time), time);
}

}  // namespace

bool is_ascending(const FeedOrder& order) {
  return predominates(order.later, order.earlier);
}

bool is_descending(const FeedOrder& order) {
  return predominates(order.earlier, order.later);
}

bool grows_at_end(const FeedOrder& order, bool is_last_page_empty) {
  return is_ascending(order) && (is_last_page_empty || order.pages > kFewPages);
}

TimePage time_page_of(std::span<const sync::InboundEvent> events, UtcMillis now, FeedOrder& order) {
  TimePage page;
  if (!events.empty()) ++order.pages;
  page.items = static_cast<std::int64_t>(events.size());
  std::optional<UtcMillis> previous;
  for (const sync::InboundEvent& event : events) {
    const auto time = sync::parse_event_time(event[sync::EventField::occurred_at]);
    if (!time) continue;
    const bool is_ahead = *time > now;
    if (!is_ahead && !sync::time_error(*time, now).empty()) continue;
    if (is_ahead) ++page.items_ahead;
    if (!is_ahead) page.newest = std::max(page.newest, time);  // absent is earliest
    if (!is_ahead) add_time(order, *time);
    page.last = std::max(page.last, time);
    if (previous && *time < *previous) page.is_ascending = false;
    previous = time;
  }
  return page;
}

TimePageDecision decide_time_page(const TimeRequest& request, const TimePage& page, std::int64_t page_size) {
  if (page.items > page_size) return {ContractFault::more_than_page_size, {}};
  if (page.items < page_size) {
    // The event of the known time is on the feed, so a page that ends before it was cut.
    const bool ends_early = page.last && page.last < request.known;
    return {ends_early ? ContractFault::ends_early : ContractFault::none, {}};
  }
  if (!page.is_ascending) return {ContractFault::not_ascending, {}};
  // Absent is earliest: a full page without a time makes no progress either.
  if (page.newest <= request.from) return {ContractFault::no_progress, {}};
  return {ContractFault::none, page.newest};
}

std::string describe_fault(ContractFault fault, const TimePage& page, std::int64_t page_size) {
  switch (fault) {
    case ContractFault::none:
      break;
    case ContractFault::more_than_page_size:
      return fmt::format(
          "its page holds {} items, more than page_size ({}); set page_size to the number of items in a full "
          "page, and reload",
          page.items, page_size);
    case ContractFault::not_ascending:
      return "a full page is not ascending by fields.occurred_at; request that order in its url, or set next "
             "or cursor, and reload";
    case ContractFault::no_progress:
      return fmt::format(
          "a full page has nothing later than the time that it was requested from, so what follows cannot be "
          "requested; request larger pages in its url and set page_size to their length, or set next or "
          "cursor, and reload{}",
          page.items_ahead == 0
              ? ""
              : fmt::format("; {} on it {} dated ahead of this machine's clock: compare the two clocks",
                            pluralize(page.items_ahead, "item"), plural_verb(page.items_ahead, "is", "are")));
    case ContractFault::ends_early:
      return fmt::format(
          "a page of {} ends before the newest event known, so it was cut before page_size ({}); set "
          "page_size "
          "to the number of items in a full page, and reload; if the feed has deleted events, giftsyncctl "
          "source reset-cursor reads it from the beginning",
          pluralize(page.items, "item"), page_size);
  }
  return {};
}

namespace {

constexpr std::size_t kMaxCursorBytes = 8'192;
/// 32 bits: an edit is missed once in four billion times, and many secrets share a fingerprint.
constexpr std::size_t kFingerprintDigits = 8;
/// A poll by time without news requests two pages: the overlap and what follows it.
constexpr std::size_t kMaxCachedPages = 2;

using Time = std::optional<UtcMillis>;  // of those, the later one is std::max: absent is earliest

/// Start of the time range of the next page; empty: from the beginning.
Time request_from(const CompiledSource& source, const PollCursor& cursor_state) {
  if (cursor_state.from || !cursor_state.since) return cursor_state.from;
  if (cursor_state.is_overlap_complete) return cursor_state.since;
  return *cursor_state.since - source.settings.overlap_seconds * kSecondMillis;
}

void update_latest(const CompiledSource& source, PollCursor& cursor_state, Time latest,
                   UtcMillis requested_at) {
  if (!latest) return;
  cursor_state.latest = std::max(cursor_state.latest, latest);
  cursor_state.newest = std::max(cursor_state.newest, latest);
  const bool reaches_overlap = *latest > requested_at - source.settings.overlap_seconds * kSecondMillis;
  if (reaches_overlap && !cursor_state.overlap_reached_at) cursor_state.overlap_reached_at = requested_at;
}

void cache_page(PollCursor& cursor_state, CachedPage page) {
  std::erase_if(cursor_state.cached_pages,
                [&](const CachedPage& cached_page) { return cached_page.url == page.url; });
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
void finish_run(const CompiledSource& source, PollCursor& cursor_state, UtcMillis now) {
  Time last = cursor_state.latest;
  if (last && cursor_state.overlap_reached_at) last = std::min(last, cursor_state.overlap_reached_at);
  const Time since = std::max(cursor_state.since, last);
  const std::int64_t overlap_millis = source.settings.overlap_seconds * kSecondMillis;
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
Continuation continuation_at(const CompiledSource& source, const JsonValue& root) {
  const bool is_link = source.settings.cursor_pointer.empty();
  const std::string& pointer = is_link ? source.settings.next : source.settings.cursor_pointer;
  const JsonValue* value = JsonPointer::parse(pointer)->resolve(root);
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
Continuation next_url(const CompiledSource& source, const JsonValue& root, const std::string& url,
                      const HttpGetResponse& response) {
  Continuation reference =
      source.settings.next == "link" ? next_link_url(response.link) : continuation_at(source, root);
  if (!reference || reference->empty()) return reference;
  const std::string target = resolve_url(url, *reference);
  if (target.empty() || target.size() > kMaxCursorBytes)
    return tl::make_unexpected("its link to the next page is not a URL");
  Continuation next = within_origin(source.settings.url, target);
  if (!next) return tl::make_unexpected("its link to the next page leads " + next.error());
  if (*next == url) return tl::make_unexpected("its link to the next page leads to the same page");
  return next;
}

/// Names under which vendors give the next page.
bool is_name_of_next(std::string_view name) {
  constexpr std::array<std::string_view, 10> kNames{"next",    "nextpage",     "nextpageurl", "nextpagetoken",
                                                    "nexturl", "nextlink",     "nextcursor",  "nexttoken",
                                                    "nexturi", "odatanextlink"};
  std::string letters = ascii_lower(name);
  std::erase_if(letters, [](char c) { return c < 'a' || c > 'z'; });
  return std::find(kNames.begin(), kNames.end(), letters) != kNames.end();
}

/// The pointer to a text outside `items` whose name says that it leads to the next page; empty: there is
/// none.
std::string pointer_to_next(const JsonValue& value, const JsonValue* items, int levels = 3) {
  if (&value == items || levels == 0) return {};
  for (const JsonMember& member : value.members()) {
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
std::string place_of_next(const CompiledSource& source, const JsonValue& root,
                          const HttpGetResponse& response) {
  const std::string pointer = pointer_to_next(root, source.items->resolve(root));
  if (!pointer.empty()) return "at " + pointer;
  return next_link_url(response.link).empty() ? "" : "in its Link header (next: link)";
}

/// It is a fault too that the settings find nothing, as they never did, on a page that names a next one
/// elsewhere (SRC-40).
Continuation continuation_of(const CompiledSource& source, const PollCursor& before, const JsonValue& root,
                             const std::string& url, const HttpGetResponse& response) {
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

/// The warning about a poll of a single page.
std::string warn_of_next(const CompiledSource& source, const JsonValue& root,
                         const HttpGetResponse& response) {
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

std::string describe_json_error(const JsonError& error) {
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
  return to_hex(hmac_sha256(source.installation, joined_with_lengths(all))).substr(0, kFingerprintDigits);
}

std::string pointers_fingerprint(const CompiledSource& source) {
  std::string all = source.settings.items;
  for (const sync::EventField field : sync::kEventFields)
    all += " " + pointer_of(source.settings.fields, field);
  return sha256_hex(all).substr(0, kFingerprintDigits);
}

void apply_config_fingerprint(PollCursor& cursor_state, const std::string& fingerprint) {
  if (cursor_state.config_fingerprint == fingerprint) return;
  cursor_state.config_fingerprint = fingerprint;
  cursor_state.cached_pages.clear();
  cursor_state.is_overlap_complete = false;
  cursor_state.refusals = 0;  // of other requests
  restart_run(cursor_state);
}

PollCursor started_again(const PollCursor& cursor_state) {
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
  if (!cursor_state.next.empty() && is_same_origin(settings.url, cursor_state.next)) return cursor_state.next;
  if (!settings.cursor_parameter.empty() && !cursor_state.cursor.empty())
    return with_query_parameter(settings.url, settings.cursor_parameter, cursor_state.cursor);
  const Time from = request_from(source, cursor_state);
  if (settings.since.empty() || !from) return settings.url;
  // Where `since` means "after", other events of the same time would be skipped: a page may end between them.
  return with_query_parameter(settings.url, settings.since, to_rfc3339(*from - 1));
}

const CachedPage* find_cached_page(const PollCursor& cursor_state, const std::string& url) {
  const auto found = std::find_if(cursor_state.cached_pages.begin(), cursor_state.cached_pages.end(),
                                  [&](const CachedPage& page) { return page.url == url; });
  return found == cursor_state.cached_pages.end() ? nullptr : &*found;
}

tl::expected<PollPage, std::string> read_page(const CompiledSource& source, const PollCursor& before,
                                              const std::string& url, const HttpGetResponse& response,
                                              const PageTimestamps& times) {
  const auto document = parse_lenient_json(response.body);
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

// The stored form of a poll's cursor: a JSON object of the members that differ from a new cursor's.

namespace {

/// Passes each member under its name to `visit`.
template <class Page, class Visit>
void visit_page_members(Page& page, const Visit& visit) {
  visit("url", page.url);
  visit("etag", page.etag);
  visit("latest", page.latest);
  visit("has_next", page.has_next);
}

template <class Cursor, class Visit>
void visit_members(Cursor& cursor_state, const Visit& visit) {
  visit("cursor", cursor_state.cursor);
  visit("since", cursor_state.since);
  visit("since_advanced_at", cursor_state.since_advanced_at);
  visit("overlap_complete", cursor_state.is_overlap_complete);
  visit("began_at", cursor_state.began_at);
  visit("latest", cursor_state.latest);
  visit("from", cursor_state.from);
  visit("newest", cursor_state.newest);
  visit("overlap_reached_at", cursor_state.overlap_reached_at);
  visit("next", cursor_state.next);
  visit("order_pages", cursor_state.order.pages);
  visit("order_later", cursor_state.order.later);
  visit("order_earlier", cursor_state.order.earlier);
  visit("order_earliest", cursor_state.order.earliest);
  visit("order_latest", cursor_state.order.latest);
  visit("found_by", cursor_state.found_by);
  visit("refusals", cursor_state.refusals);
  visit("cached_pages", cursor_state.cached_pages);
  visit("config_fingerprint", cursor_state.config_fingerprint);
  visit("verified_pointers", cursor_state.verified_pointers);
  visit("consecutive_unreadable_pages", cursor_state.consecutive_unreadable_pages);
  visit("unreadable_fingerprints", cursor_state.unreadable_fingerprints);
  visit("has_retry_after", cursor_state.has_retry_after);
}

template <class Value>
Json to_json(const Value& value) {
  return value;
}
Json to_json(const std::optional<UtcMillis>& time) {
  return time->value;
}
Json to_json(const std::vector<CachedPage>& pages) {
  Json all = Json::array();
  for (const CachedPage& page : pages) {
    Json& json = all.emplace_back(Json::object());
    visit_page_members(page, [&](const char* name, const auto& value) {
      if (value != std::decay_t<decltype(value)>()) json[name] = to_json(value);
    });
  }
  return all;
}

// Each leaves the member as it is when the JSON is of another kind.
void read(const Json& json, std::string& text) {
  if (json.is_string()) text = json.get<std::string>();
}
void read(const Json& json, std::optional<UtcMillis>& time) {
  if (json.is_number_integer()) time = UtcMillis{json.get<std::int64_t>()};
}
void read(const Json& json, std::int64_t& number) {
  if (json.is_number_integer()) number = json.get<std::int64_t>();
}
void read(const Json& json, bool& flag) {
  flag = json == true;
}
void read(const Json& json, std::vector<std::string>& texts) {
  for (const Json& one : json.is_array() ? json : Json::array()) {
    if (one.is_string()) texts.push_back(one.get<std::string>());
  }
}
void read(const Json& json, std::vector<CachedPage>& pages) {
  for (const Json& one : json.is_array() ? json : Json::array()) {
    CachedPage page;
    visit_page_members(page, [&](const char* name, auto& value) {
      if (one.contains(name)) read(one[name], value);
    });
    if (!page.etag.empty() && page.etag.size() <= kMaxEtagBytes) pages.push_back(std::move(page));
  }
}

}  // namespace

std::string serialize(const PollCursor& cursor_state) {
  Json json = Json::object();
  visit_members(cursor_state, [&](const char* name, const auto& value) {
    if (value != std::decay_t<decltype(value)>()) json[name] = to_json(value);
  });
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

PollCursor parse_poll_cursor(const std::string& text) {
  PollCursor cursor_state;
  const auto json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return cursor_state;
  visit_members(cursor_state, [&](const char* name, auto& value) {
    if (json.contains(name)) read(json[name], value);
  });
  return cursor_state;
}

}  // namespace giftsync::sources
