// The stored form of a poll's cursor: a JSON object of the members that differ from a new cursor's.
#include <nlohmann/json.hpp>

#include "daemon/sources/poll_cursor.h"

namespace giftsync::daemon::sources {
namespace {

using Json = nlohmann::ordered_json;

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
Json to_json(const std::optional<platform::UtcMillis>& time) {
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
void read(const Json& json, std::optional<platform::UtcMillis>& time) {
  if (json.is_number_integer()) time = platform::UtcMillis{json.get<std::int64_t>()};
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

}  // namespace giftsync::daemon::sources
