// daemon/handlers: GET {base_url}/api/v1/events: the feed, as the key sees it (API-12).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/problem.h"
#include "platform/clock.h"
#include "platform/json.h"
#include "schema/store/event/feed.h"

namespace giftsync::handlers {

inline constexpr std::size_t kDefaultEvents = 100;
inline constexpr std::size_t kMaxEvents = 500;

/// A place in the feed: "1796043483.17", epoch and number. Pure.
struct FeedCursor {
  std::int64_t epoch = 0;
  std::int64_t seq = 0;
  friend bool operator==(const FeedCursor&, const FeedCursor&) = default;
};
std::string to_text(const FeedCursor& cursor);
std::optional<FeedCursor> feed_cursor_from(std::string_view text);

/// Pure.
Json feed_event_json(const store::FeedEvent& event, std::int64_t epoch);

/// The query of the feed. Pure.
struct EventQuery {
  std::optional<FeedCursor> after = std::nullopt;
  std::optional<UtcMillis> since = std::nullopt;
  std::vector<FeedEventType> types = {};  ///< empty: all
  std::size_t limit = kDefaultEvents;
  http::FieldIssues issues = {};  ///< each parameter that is unknown, repeated, or cannot be applied
};
EventQuery parse_event_query(std::string_view query);

/// What the key sees: with the scope report its organization's events, or all if it has none; else its
/// account's. A test key sees test events, and no others. Pure.
store::FeedFilter feed_filter_of(const store::ApiKeyOwner& caller);

/// The number behind which a reader begins: behind a cursor, at a time, or without either at the oldest event
/// that is kept; nullopt if what follows is not kept whole. `keep_days`: feed.keep_days.
std::optional<std::int64_t> feed_place(store::Feed& feed, const store::FeedState& state,
                                       const std::optional<FeedCursor>& after,
                                       const std::optional<UtcMillis>& since, std::int64_t keep_days,
                                       UtcMillis now);

/// 409: the setting feed.enabled is off.
http::HttpResponse feed_off();
/// 410: the cursor's place is not kept.
http::HttpResponse cursor_expired();

/// Any thread. Throws DependencyError when the store fails. The arguments must outlive it.
class EventHandler {
 public:
  struct Options {
    bool enabled = false;
    std::int64_t keep_days = 30;
    Clock clock = system_now;
  };
  EventHandler(store::Feed& feed, http::Authenticator& authenticator, Options options)
      : feed_(feed), authenticator_(authenticator), options_(std::move(options)) {}

  http::Reply list(const http::HttpRequest& request, std::string_view);

 private:
  http::HttpResponse list_for(const http::HttpRequest& request, const store::ApiKeyOwner& caller);

  store::Feed& feed_;
  http::Authenticator& authenticator_;
  const Options options_;
};

}  // namespace giftsync::handlers
