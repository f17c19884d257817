// daemon/handlers: a key's webhooks over HTTP, at admin_url (HOOK-13): /api/v1/webhook_endpoints lists and
// makes them, /{id} shows, changes and deletes one, POST /{id}/rotate_secret, /test, /replay, /retry, /enable
// and /disable do what the commands do, GET /{id}/attempts lists attempts. For keys with the scope webhooks,
// about endpoints of their account.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/webhooks/webhook_changes.h"
#include "platform/clock.h"
#include "schema/store/store.h"

namespace giftsync::handlers {

struct WebhookEndpointOptions {
  webhooks::PostOptions post = {};
  webhooks::Seal seal;
  webhooks::Unseal unseal;
  Clock clock = system_now;
};

/// Any thread. Throws DependencyError when the store fails.
class WebhookEndpointHandler {
 public:
  WebhookEndpointHandler(store::Store& store, http::Authenticator& authenticator,
                         WebhookEndpointOptions options)
      : store_(store), authenticator_(authenticator), options_(std::move(options)) {}

  http::Reply list(const http::HttpRequest& request, std::string_view);
  http::Reply create(const http::HttpRequest& request, std::string_view);
  /// GET, HEAD, PATCH and DELETE.
  http::Reply handle_one(const http::HttpRequest& request, std::string_view id);
  http::Reply rotate_secret(const http::HttpRequest& request, std::string_view id);
  http::Reply test(const http::HttpRequest& request, std::string_view id);
  http::Reply replay(const http::HttpRequest& request, std::string_view id);
  http::Reply retry(const http::HttpRequest& request, std::string_view id);
  http::Reply enable(const http::HttpRequest& request, std::string_view id);
  http::Reply disable(const http::HttpRequest& request, std::string_view id);
  http::Reply list_attempts(const http::HttpRequest& request, std::string_view id);

 private:
  /// One call about one endpoint of the caller.
  struct Call {
    const http::HttpRequest& request;
    const store::ApiKeyOwner& caller;
    store::WebhookEndpoint endpoint;
    UtcMillis now;
  };
  using Respond = std::function<http::HttpResponse(Call&)>;
  /// `parameters`: of the query.
  http::Reply with_endpoint(const http::HttpRequest& request, std::string_view id, bool has_body,
                            const Respond& respond, std::initializer_list<std::string_view> parameters = {});
  http::HttpResponse update(Call& call);
  http::HttpResponse shown(std::int64_t id, int status = 200, const std::string& secret = {});
  static store::AuditEvent event_of(const Call& call, const std::string& verb);

  store::Store& store_;
  http::Authenticator& authenticator_;
  const WebhookEndpointOptions options_;
  std::atomic<int> tests_ = 0;  ///< under way
};

}  // namespace giftsync::handlers
