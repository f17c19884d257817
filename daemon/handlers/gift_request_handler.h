// daemon/handlers: the API's endpoints for gift requests: A sends a gift by e-mail (HTTP-1), B returns its
// URLs (HTTP-2), and a sender can read a gift request back (HTTP-7). Checks run in this order: authorization,
// size, type, body, catalogue (HTTP-14).
#pragma once

#include <functional>

#include "crm/directory.h"
#include "daemon/handlers/gift_request_json.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/request_rate_limiter.h"
#include "platform/clock.h"
#include "platform/ttl_cache.h"
#include "schema/store/store.h"
#include "sync/access/send_authorization.h"
#include "sync/crm/urgent_writer.h"
#include "sync/gift/gift_links.h"

namespace giftsync::handlers {

struct GiftRequestHandlerOptions {
  GiftRequestLimits limits;
  std::size_t max_body_bytes = 1 << 20;
  Clock clock = system_now;
};

/// Who asked for a gift, and in which call; stored with it.
struct GiftRequestOrigin {
  std::string credential_prefix;  ///< of the API key or organization token
  std::string http_request_id;    ///< the call's Request-Id
  std::string triggered_by = {};  ///< the CRM user who sends it; empty: the sender
};

/// Any thread; none waits for a commit. Throws DependencyError when the store fails; the request is
/// not acknowledged then.
class GiftRequestHandler {
 public:
  using OnCreated = std::function<void(const store::CreateOutcome&, const GiftRequestOrigin&)>;
  /// `on_created` is called after each durable gift request, with its outcome and without triggered_by; it
  /// wakes the workers.
  GiftRequestHandler(store::Store& store, sync::UrgentWriter& writer, http::Authenticator& authenticator,
                     const sync::GiftLinks& links, GiftRequestHandlerOptions options, OnCreated on_created);

  /// Endpoint A (HTTP-1).
  http::Reply send_by_email(const http::HttpRequest& request, std::string_view);
  /// Endpoint B (HTTP-2).
  http::Reply create_urls(const http::HttpRequest& request, std::string_view);
  /// What both endpoints do with a valid caller and body: look up the item, then make the gift request
  /// durable. Idempotency keys of different scopes must differ.
  http::Reply send(GiftRequestBody body, SendMode mode, const store::Account& sender,
                   const std::optional<std::string>& idempotency_key, GiftRequestOrigin origin);
  /// GET /api/v1/gift_requests/{id}: 404 for requests of other senders too.
  http::Reply read(const http::HttpRequest& request, std::string_view id);

 private:
  http::Reply create(const http::HttpRequest& request, SendMode mode);
  http::Reply create_idempotent(store::NewGiftRequest new_request);
  /// The response to a request that the writer is done with. Throws DependencyError.
  http::HttpResponse finish(const store::CreateOutcome& outcome, SendMode mode,
                            const GiftRequestOrigin& origin);
  http::HttpResponse created_response(const store::CreateOutcome& outcome, SendMode mode) const;

  store::Store& store_;
  sync::UrgentWriter& writer_;
  http::Authenticator& authenticator_;
  const sync::GiftLinks& links_;
  const GiftRequestHandlerOptions options_;
  const OnCreated on_created_;
  TtlCache<GiftId, store::GiftItem> items_;
  http::InflightKeys inflight_keys_;
};

// POST {admin_url}/api/v1/crm/gift_requests: the CRM's own sending interface sends a gift on
// behalf of a CRM user (HTTP-8, REQ-36). The header Organization-Token identifies the CRM's organization. The
// sender must meet the preconditions of sync/access/send_authorization.h. The rest is as for endpoint A.

/// Any thread. Throws DependencyError when store or CRM fail; the request is not acknowledged then.
class CrmGiftRequestHandler {
 public:
  /// `requests_per_minute`: for each organization; 0 for no limit. `crm_has_users`: see SenderInfo.
  CrmGiftRequestHandler(store::Store& store, crm::Directory& directory,
                        GiftRequestHandler& gift_request_handler, GiftRequestHandlerOptions options,
                        std::int64_t requests_per_minute, bool crm_has_users = true)
      : store_(store),
        directory_(directory),
        gift_request_handler_(gift_request_handler),
        options_(std::move(options)),
        crm_has_users_(crm_has_users),
        rate_limiter_(requests_per_minute, options_.clock) {}

  http::Reply handle(const http::HttpRequest& request, std::string_view);

 private:
  http::Reply handle_with_token(const http::HttpRequest& request, const std::string& token);
  http::Reply handle_for_sender(const http::HttpRequest& request, const std::string& token,
                                sync::SenderInfo sender, UtcMillis now);

  store::Store& store_;
  crm::Directory& directory_;
  GiftRequestHandler& gift_request_handler_;
  const GiftRequestHandlerOptions options_;
  const bool crm_has_users_;
  http::RequestRateLimiter rate_limiter_;
};

}  // namespace giftsync::handlers
