#include "daemon/handlers/event_handler.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "daemon/handlers/call_parameters.h"
#include "daemon/http/json_request.h"
#include "platform/text.h"
#include "sync/feed_step.h"

namespace giftsync::handlers {
namespace {

/// A time that the feed can be asked for from: after that, a cursor is the place to go on.
constexpr std::string_view kTimeForm = "a time as 2026-11-28T10:00:00Z (write + as %2B)";
constexpr std::array<std::string_view, 4> kParameters{"after", "since", "types", "limit"};
constexpr std::string_view kTypesForm =
    "types of events such as gift.opened, or gift.* for all of a kind, separated by commas";

std::string_view kind_of(FeedEventType type) {
  const std::string_view word = to_word(type);
  return word.substr(0, word.find('.'));
}

Json optional_text(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

class QueryReading {
 public:
  explicit QueryReading(EventQuery& query) : query_(query) {}

  void read(const std::string& name, const std::string& value) {
    given_.insert(name);
    if (name == "after")
      read_after(value);
    else if (name == "since")
      read_since(value);
    else if (name == "types")
      read_types(value);
    else
      read_limit(value);
  }

  void end() {
    if (given_.contains("after") && given_.contains("since"))
      add("since", "invalid", "after and since are two places to begin at: give one of them.");
  }

  void add(const std::string& field, http::FieldCode code, const std::string& message) {
    query_.issues.push_back({field, code, message});
  }

 private:
  void refuse(const std::string& name, const std::string& value, std::string_view wanted) {
    add(name, "invalid", fmt::format("{} must be {}; found {}.", name, wanted, http::quoted(value)));
  }
  void read_after(const std::string& value) {
    query_.after = feed_cursor_from(value);
    if (!query_.after) refuse("after", value, "a cursor: \"next\" or \"feed_cursor\" of an earlier answer");
  }
  void read_since(const std::string& value) {
    query_.since = from_rfc3339(value);
    if (!query_.since) refuse("since", value, kTimeForm);
  }
  void read_types(const std::string& value) {
    for (std::string_view rest = value;;) {
      const std::string_view word = rest.substr(0, rest.find(','));
      const std::vector<FeedEventType> types = feed_event_types_of(word);
      if (types.empty()) return refuse("types", std::string(word), kTypesForm);
      query_.types.insert(query_.types.end(), types.begin(), types.end());
      if (word.size() == rest.size()) return;
      rest.remove_prefix(word.size() + 1);
    }
  }
  void read_limit(const std::string& value) {
    const auto number = parse_number<std::size_t>(value);
    if (!number || *number < 1 || *number > kMaxEvents)
      return refuse("limit", value, fmt::format("a number from 1 to {}", kMaxEvents));
    query_.limit = *number;
  }

  EventQuery& query_;
  std::set<std::string> given_;
};

}  // namespace

std::string to_text(const FeedCursor& cursor) {
  return fmt::format("{}.{}", cursor.epoch, cursor.seq);
}

std::optional<FeedCursor> feed_cursor_from(std::string_view text) {
  const std::size_t point = text.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const auto is_number = [](std::string_view digits) {
    return !digits.empty() &&
           std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; });
  };
  if (!is_number(text.substr(0, point)) || !is_number(text.substr(point + 1))) return std::nullopt;
  const auto epoch = parse_number<std::int64_t>(text.substr(0, point));
  const auto seq = parse_number<std::int64_t>(text.substr(point + 1));
  if (!epoch || !seq) return std::nullopt;
  return FeedCursor{*epoch, *seq};
}

Json feed_event_json(const store::FeedEvent& event, std::int64_t epoch) {
  Json json{{"event_id", sync::feed_event_id(epoch, event.seq)},
            {"type", to_word(event.type)},
            {"timestamp", to_rfc3339(event.recorded_at)},
            {"test", event.is_test}};
  const std::string_view kind = kind_of(event.type);
  if (kind == "gift") json["recipient_transaction_id"] = event.object;
  if (kind == "gift_request") json["gift_request_id"] = event.object;
  if (kind == "request_record") json["request_record_id"] = event.record;
  json["change"] = {{"from", optional_text(event.status_before)}, {"to", optional_text(event.status_after)}};
  if (kind == "gift") json["change"]["version"] = event.version;
  if (event.occurred_at) json["change"]["occurred_at"] = to_rfc3339(*event.occurred_at);
  return json;
}

EventQuery parse_event_query(std::string_view text) {
  EventQuery query;
  QueryReading reading(query);
  read_parameters(text, "the feed", kParameters, query.issues,
                  [&](const std::string& name, const std::string& value) { reading.read(name, value); });
  reading.end();
  return query;
}

store::FeedFilter feed_filter_of(const store::ApiKeyOwner& caller) {
  store::FeedFilter filter;
  filter.is_test = is_test_key(caller.key.prefix);
  if (caller.key.scopes.contains(Scope::report))
    filter.organization = caller.account.organization;
  else
    filter.account = caller.account.id;
  return filter;
}

http::HttpResponse feed_off() {
  return http::problem("feed_off",
                       "This installation keeps no events: its operator switches them on with the setting "
                       "feed.enabled.");
}

http::HttpResponse cursor_expired() {
  return http::problem(
      "cursor_expired",
      "Events behind this place are not kept any more, or the feed has begun again since. List all "
      "gifts (GET /api/v1/gifts) and go on from the feed_cursor of its first page.");
}

/// What is older than feed.keep_days may be deleted already, or not yet: it is refused either way, so that no
/// answer looks whole that is not.
std::optional<std::int64_t> feed_place(store::Feed& feed, const store::FeedState& state,
                                       const std::optional<FeedCursor>& after,
                                       const std::optional<UtcMillis>& since, std::int64_t keep_days,
                                       UtcMillis now) {
  if (after) return state.is_place(after->epoch, after->seq) ? std::optional(after->seq) : std::nullopt;
  if (!since) return state.oldest - 1;
  if (*since < state.began_at || *since < now - keep_days * kDayMillis) return std::nullopt;
  return std::max(feed.place_of(*since), state.oldest - 1);
}

http::Reply EventHandler::list(const http::HttpRequest& request, std::string_view) {
  const auto handle = [&](const store::ApiKeyOwner& caller) { return list_for(request, caller); };
  return authenticator_.handle_authenticated(request, Scope::read, handle);
}

http::HttpResponse EventHandler::list_for(const http::HttpRequest& request,
                                          const store::ApiKeyOwner& caller) {
  const EventQuery query = parse_event_query(request.query);
  if (!query.issues.empty()) return refused_query(query.issues);
  if (!options_.enabled) return feed_off();
  const store::FeedState state = feed_.state();
  const std::optional<std::int64_t> after =
      feed_place(feed_, state, query.after, query.since, options_.keep_days, options_.clock());
  if (!after) return cursor_expired();
  store::FeedFilter filter = feed_filter_of(caller);
  filter.types = query.types;
  const store::FeedPage page = feed_.list(filter, *after, query.limit);
  // Events may have been deleted since the place was found.
  if (!feed_.state().is_place(state.epoch, *after)) return cursor_expired();
  Json events = Json::array();
  for (const store::FeedEvent& event : page.events) events.push_back(feed_event_json(event, state.epoch));
  return http::json_response(200, http::json_text({{"data", std::move(events)},
                                                   {"next", to_text(FeedCursor{state.epoch, page.last})},
                                                   {"has_more", page.has_more}}));
}

}  // namespace giftsync::handlers
