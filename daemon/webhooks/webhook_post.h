// daemon/webhooks: one POST of an event to an endpoint: body, headers, signature, and the addresses that may
// be reached (HOOK-2 to HOOK-4, HOOK-11). The poster, the test of an endpoint and its creation use it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/http_client.h"
#include "platform/ip_address.h"
#include "platform/time.h"
#include "schema/store/event/feed.h"
#include "schema/store/event/webhook_endpoints.h"
#include "schema/store/gift/gift_requests.h"
#include "sync/webhook_rules.h"

namespace giftsync::webhooks {

/// What of the settings each POST needs.
struct PostOptions {
  std::vector<IpNetwork> allowed_networks = {};
  std::string ca_file = {};  ///< empty: the system's certificate authorities
  std::int64_t timeout_millis = 15'000;
};

/// The body. `gift`: as it is now; null for events of something else, and of a gift that was deleted.
std::string event_body(std::int64_t epoch, const store::FeedEvent& event, const store::Gift* gift);
/// The body of a test, whose type is endpoint.test.
std::string test_body(const std::string& id, UtcMillis now);

/// What came of a POST.
struct Posted {
  sync::WebhookResponse response{};
  std::string error{};  ///< why there was no response
  std::string body{};   ///< of the response: its first 1,024 bytes as printable text
  UtcMillis started_at{};
  std::int64_t millis = 0;
  /// "500: body" or the error.
  std::string describe() const;
};

/// The connections of one endpoint, which stay open. Any thread.
class WebhookClient {
 public:
  WebhookClient(std::string url, const PostOptions& options);

  /// `secrets`: the texts that sign, the newer one first. `keep_going`: false ends the request.
  Posted post(const std::string& id, const std::string& body, const std::vector<std::string>& secrets,
              UtcMillis now, const KeepGoing& keep_going = nullptr);

 private:
  const std::string url_;
  HttpClient http_;
};

/// Why an endpoint may not have this URL, as a sentence: by its form, or by an address of its host. A host
/// that cannot be resolved now may have the URL: each connection is checked. May wait for the resolver.
std::optional<std::string> url_refusal(const std::string& url, const std::vector<IpNetwork>& allowed);

/// Opens what is sealed; nullopt: neither secret of the server opens it.
using Unseal = std::function<std::optional<std::string>(const std::string& sealed)>;
/// The texts that sign at that time, the newer one first; empty when they cannot be opened.
std::vector<std::string> signing_secrets(const store::WebhookEndpoint& endpoint, const Unseal& unseal,
                                         UtcMillis now);

}  // namespace giftsync::webhooks
