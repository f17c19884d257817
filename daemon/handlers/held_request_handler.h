// daemon/handlers: held gift requests over HTTP, at admin_url (GUARD-27): GET /api/v1/held_requests lists
// them, /api/v1/held_requests/{id} shows one, POST .../{id}/approve and /reject decide. For keys with the
// scope approve, about requests of their account's organization.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "platform/clock.h"
#include "schema/store/store.h"
#include "sync/gift/held_requests.h"

namespace giftsync::handlers {

struct HeldRequestHandlerOptions {
  std::vector<std::string> allowed_domains = {};
  bool allow_self_approval = false;
  Clock clock = system_now;
  /// Called after each approval, with the gifts; wakes the workers.
  std::function<void(const sync::HeldReview&, const sync::HeldOutcome&)> on_approved = {};
};

/// Any thread. Throws DependencyError when the store fails.
class HeldRequestHandler {
 public:
  HeldRequestHandler(store::Store& store, http::Authenticator& authenticator,
                     HeldRequestHandlerOptions options)
      : store_(store), authenticator_(authenticator), options_(std::move(options)) {}

  http::Reply list(const http::HttpRequest& request, std::string_view);
  http::Reply read(const http::HttpRequest& request, std::string_view id);
  http::Reply approve(const http::HttpRequest& request, std::string_view id);
  http::Reply reject(const http::HttpRequest& request, std::string_view id);

 private:
  /// Nothing when the caller may not see it.
  std::optional<sync::HeldReview> review(const store::ApiKeyOwner& caller, std::string_view id);
  http::Reply decide(const http::HttpRequest& request, std::string_view id, bool approves);

  store::Store& store_;
  http::Authenticator& authenticator_;
  const HeldRequestHandlerOptions options_;
};

/// The event of what a key does: an address has several keys, of which one may be in other hands.
store::AuditEvent event_of_key(const store::ApiKeyOwner& caller, const http::HttpRequest& request,
                               UtcMillis now);

}  // namespace giftsync::handlers
