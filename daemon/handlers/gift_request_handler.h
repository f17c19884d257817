// daemon/handlers: the API's endpoints for gift requests: A sends a gift by e-mail (HTTP-1), B returns its
// URLs (HTTP-2), and a sender can read a gift request back (HTTP-7). Checks run in this order: authorization,
// size, type, body, catalogue (HTTP-14).
#pragma once

#include <functional>

#include "daemon/handlers/gift_request_body.h"
#include "daemon/http/authenticator.h"
#include "daemon/http/http_message.h"
#include "daemon/http/inflight_keys.h"
#include "platform/clock.h"
#include "platform/ttl_cache.h"
#include "schema/store/store.h"
#include "sync/gift_links.h"
#include "sync/urgent_writer.h"

namespace giftsync::daemon::handlers {

struct GiftRequestHandlerOptions {
  GiftRequestLimits limits;
  std::size_t max_body_bytes = 1 << 20;
  platform::Clock clock = platform::system_now;
};

/// Who asked for a gift, and in which call; stored with it.
struct GiftRequestOrigin {
  std::string credential_prefix;  ///< of the API key or organization token
  std::string http_request_id;    ///< the call's Request-Id
  std::string triggered_by = {};  ///< the CRM user who sends it; empty: the sender
};

/// Any thread; none waits for a commit. Throws platform::DependencyError when the store fails; the request is
/// not acknowledged then.
class GiftRequestHandler {
 public:
  using OnCreated = std::function<void(const schema::store::CreateOutcome&, const GiftRequestOrigin&)>;
  /// `on_created` is called after each durable gift request, with its outcome and without triggered_by; it
  /// wakes the workers.
  GiftRequestHandler(schema::store::Store& store, sync::UrgentWriter& writer,
                     http::Authenticator& authenticator, const sync::GiftLinks& links,
                     GiftRequestHandlerOptions options, OnCreated on_created);

  /// Endpoint A (HTTP-1).
  http::Reply send_by_email(const http::HttpRequest& request, std::string_view);
  /// Endpoint B (HTTP-2).
  http::Reply create_urls(const http::HttpRequest& request, std::string_view);
  /// What both endpoints do with a valid caller and body: look up the item, then make the gift request
  /// durable. Idempotency keys of different scopes must differ.
  http::Reply send(GiftRequestBody body, schema::SendMode mode, const schema::store::Account& sender,
                   const std::optional<std::string>& idempotency_key, GiftRequestOrigin origin);
  /// GET /api/v1/gift_requests/{id}: 404 for requests of other senders too.
  http::Reply read(const http::HttpRequest& request, std::string_view id);

 private:
  http::Reply create(const http::HttpRequest& request, schema::SendMode mode);
  http::Reply create_idempotent(schema::store::NewGiftRequest new_request);
  /// Of a request that the writer is done with. Throws platform::DependencyError.
  http::HttpResponse finish(const schema::store::CreateOutcome& outcome, schema::SendMode mode,
                            const GiftRequestOrigin& origin);
  http::HttpResponse created_response(const schema::store::CreateOutcome& outcome,
                                      schema::SendMode mode) const;

  schema::store::Store& store_;
  sync::UrgentWriter& writer_;
  http::Authenticator& authenticator_;
  const sync::GiftLinks& links_;
  const GiftRequestHandlerOptions options_;
  const OnCreated on_created_;
  platform::TtlCache<schema::GiftId, schema::store::GiftItem> items_;
  http::InflightKeys inflight_keys_;
};

}  // namespace giftsync::daemon::handlers
