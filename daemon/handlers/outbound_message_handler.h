// daemon/handlers: POST /api/v1/crm/salesforce/messages/{token}: an org of Salesforce reports by SOAP
// messages which request records were inserted or changed (MSG-1 to MSG-9). The token in the path is the
// caller's only credential; a message without a valid one gets the response of a path that does not exist.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "crm/salesforce/records/outbound_message.h"
#include "daemon/http/http_message.h"
#include "daemon/http/reply.h"
#include "daemon/http/request_rate_limiter.h"
#include "platform/clock.h"
#include "platform/ttl_cache.h"
#include "schema/store/store.h"

namespace giftsync::handlers {

struct OutboundMessageOptions {
  Clock clock;
  std::int64_t requests_per_minute = 0;  ///< of each token; 0 for no limit
  std::function<void()> on_stored;  ///< called after each stored message; wakes the request record worker
};

/// Any thread. Throws DependencyError when the store fails; the message is not acknowledged then.
class OutboundMessageHandler {
 public:
  OutboundMessageHandler(store::Store& store, OutboundMessageOptions options);

  http::Reply handle(const http::HttpRequest& request, std::string_view token);

 private:
  /// What of the store decides about a message; at most a second old.
  struct Access {
    std::vector<store::Credential> tokens;
    std::optional<salesforce::MessageTarget> target;
  };
  Access load_access();
  http::HttpResponse handle_for_token(const http::HttpRequest& request, const Access& access,
                                      const store::Credential& token);
  http::HttpResponse store_records(const std::vector<std::string>& records, const store::Credential& token);

  store::Store& store_;
  const OutboundMessageOptions options_;
  http::RequestRateLimiter rate_limiter_;
  TtlCache<int, Access> access_;  ///< its only key is 0
};

}  // namespace giftsync::handlers
