// daemon/handlers: POST /api/v1/webhooks/status_changes/{source}: sources send status changes here (SRC-22).
// A 2xx response means that the whole message is durable.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"
#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/webhook_message.h"
#include "platform/clock.h"

namespace giftsync::daemon::handlers {

/// Any thread. Throws platform::DependencyError when the store fails; the message is not acknowledged then.
class StatusWebhookHandler {
 public:
  /// Serves the webhooks among `sources`; `fetch` is for presets that need it.
  StatusWebhookHandler(const std::vector<sources::CompiledSource>& sources, sources::EventIngestor& ingestor,
                       sources::SourceHealthMonitor& health_monitor, platform::Clock clock,
                       sources::FetchUrl fetch, std::size_t max_body_bytes);

  http::HttpResponse handle(const http::HttpRequest& request, std::string_view source);
  /// False when `head` alone shows that handle() refuses the message, so that its body is not read (HTTP-49).
  bool may_accept(const http::HttpRequest& head, std::string_view source) const;

 private:
  using Refusal = sources::SourceHealthMonitor::Refusal;
  /// The response, counted among the source's refused messages and with the reason for the log.
  http::HttpResponse refuse(const std::string& source, http::HttpResponse response, Refusal why);
  /// The same for a message with a verified sender, which is kept (SRC-61).
  http::HttpResponse refuse_verified(const sources::CompiledSource& source, const http::HttpRequest& request,
                                     http::HttpResponse response, Refusal why,
                                     const std::optional<std::string>& message_id = std::nullopt);
  http::HttpResponse ingest(const sources::CompiledSource& compiled_source, const http::HttpRequest& request,
                            sources::WebhookEvents message, platform::UtcMillis now);

  std::map<std::string, sources::CompiledSource, std::less<>> sources_;
  sources::EventIngestor& ingestor_;
  sources::SourceHealthMonitor& health_monitor_;
  const platform::Clock clock_;
  const sources::FetchUrl fetch_;
  const std::size_t max_body_bytes_;
};

}  // namespace giftsync::daemon::handlers
