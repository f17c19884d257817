// daemon/handlers: POST {admin_url}/api/v1/crm/gift_requests: the CRM's own sending interface sends a gift on
// behalf of a CRM user (HTTP-8, REQ-36). The header Organization-Token identifies the CRM's organization. The
// sender must meet the preconditions of sync/send_authorization.h. The rest is as for endpoint A.
#pragma once

#include "daemon/handlers/gift_request_handler.h"
#include "daemon/http/http_message.h"
#include "daemon/http/request_rate_limiter.h"
#include "schema/crm/directory.h"
#include "schema/store/store.h"
#include "sync/send_authorization.h"

namespace giftsync::daemon::handlers {

/// Any thread. Throws platform::DependencyError when store or CRM fail; the request is not acknowledged then.
class CrmGiftRequestHandler {
 public:
  /// `requests_per_minute`: for each organization; 0 for no limit. `crm_has_users`: see SenderInfo.
  CrmGiftRequestHandler(schema::store::Store& store, schema::crm::Directory& directory,
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
                                sync::SenderInfo sender, platform::UtcMillis now);

  schema::store::Store& store_;
  schema::crm::Directory& directory_;
  GiftRequestHandler& gift_request_handler_;
  const GiftRequestHandlerOptions options_;
  const bool crm_has_users_;
  http::RequestRateLimiter rate_limiter_;
};

}  // namespace giftsync::daemon::handlers
