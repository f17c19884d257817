// daemon/handlers: what keys read of the API, at base_url: gifts and gift requests as lists (API-1, API-2,
// API-9), one gift, its history and its match (API-5), and the items that can be sent (API-7).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/handlers/call_parameters.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/request_rate_limiter.h"
#include "platform/clock.h"
#include "platform/json.h"
#include "schema/store/store.h"

namespace giftsync::handlers {

/// On whose behalf a key reads (API-3): with the scope report for its organization, or for all if it has
/// none; else for its account. A test key sees test gifts alone.
store::Viewer viewer_of(const store::ApiKeyOwner& caller);

/// 404: there is no such gift, or the key does not see it.
http::HttpResponse unknown_gift_transaction();

/// The gift that the path names, if the caller sees it.
std::optional<store::ConsoleGift> find_seen_gift(store::Store& store, const store::ApiKeyOwner& caller,
                                                 std::string_view id_text);

/// The gift's ETag without quotation marks, of its row and of its latest mail now (API-8).
std::string gift_tag(store::Store& store, const store::RecipientTransaction& gift);

/// Some rows of a list, and the place where it goes on.
struct ListedRows {
  std::vector<Json> rows = {};
  std::optional<std::string> next = {};
};
/// The rows behind a place of its order; from the beginning without one.
using ListSource = std::function<ListedRows(const std::optional<std::string>& place, std::size_t limit)>;

struct GiftReadOptions {
  std::string base_url = {};  ///< no slash at its end
  std::string secret = {};    ///< the server secret's bytes
  Clock clock = system_now;
  bool has_feed = false;  ///< feed.enabled
  std::int64_t feed_keep_days = 30;
  std::string currency = {};  ///< catalogue.currency
};

/// Any thread. Throws DependencyError when the store fails.
class GiftReadHandler {
 public:
  GiftReadHandler(store::Store& store, http::Authenticator& authenticator, GiftReadOptions options)
      : store_(store),
        authenticator_(authenticator),
        options_(std::move(options)),
        cursors_(options_.secret) {}

  http::Reply list_gifts(const http::HttpRequest& request, std::string_view);
  http::Reply list_requests(const http::HttpRequest& request, std::string_view);
  http::Reply read_gift(const http::HttpRequest& request, std::string_view id);
  http::Reply read_history(const http::HttpRequest& request, std::string_view id);
  http::Reply read_match(const http::HttpRequest& request, std::string_view id);
  http::Reply list_items(const http::HttpRequest& request, std::string_view);
  http::Reply read_item(const http::HttpRequest& request, std::string_view id);

 private:
  /// A page, or all rows as NDJSON. `of`: the list's name.
  http::HttpResponse list(const http::HttpRequest& request, const store::ApiKeyOwner& caller,
                          std::string_view of, ListParameters query, const ListSource& source,
                          const std::optional<Json>& feed_cursor = {});
  /// A page of the gifts that have changed since, in the order of their last change (API-4).
  http::HttpResponse list_changed(const http::HttpRequest& request, const store::ApiKeyOwner& caller,
                                  ListParameters query);
  /// The place from which a reader of the whole list goes on; null without a feed.
  Json feed_cursor();
  http::HttpResponse stream(const http::HttpRequest& request, const store::ApiKeyOwner& caller,
                            const std::string& sealed_for, std::optional<std::string> place,
                            const ListSource& source);
  http::HttpResponse read_seen(const http::HttpRequest& request, const store::ApiKeyOwner& caller,
                               std::string_view id,
                               const std::function<http::HttpResponse(const store::Gift&)>& respond);

  store::Store& store_;
  http::Authenticator& authenticator_;
  const GiftReadOptions options_;
  const ListCursors cursors_;
  http::InflightKeys streams_;
};

}  // namespace giftsync::handlers
