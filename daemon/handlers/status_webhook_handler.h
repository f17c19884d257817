// daemon/handlers: POST /api/v1/webhooks/status_changes/{source}: sources send status changes here (SRC-22).
// A 2xx response means that the whole message is durable.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/http/http_message.h"
#include "daemon/http/reply.h"
#include "daemon/sources/event_ingestor.h"
#include "daemon/sources/webhook_message.h"
#include "platform/clock.h"
#include "sync/crm/urgent_writer.h"

namespace giftsync::handlers {

struct StatusWebhookOptions {
  Clock clock;
  sources::FetchUrlFor fetch;  ///< for presets that need it
  std::size_t max_body_bytes = 0;
};

/// Any thread; none waits for a commit. Throws DependencyError when the store fails; the message is
/// not acknowledged then.
class StatusWebhookHandler {
 public:
  /// Serves the webhooks among `sources`.
  StatusWebhookHandler(const std::vector<sources::CompiledSource>& sources, sources::EventIngestor& ingestor,
                       sync::UrgentWriter& writer, sources::SourceHealthMonitor& health_monitor,
                       StatusWebhookOptions options);

  http::Reply handle(const http::HttpRequest& request, std::string_view source);
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
  http::Reply ingest(const sources::CompiledSource& compiled_source, const http::HttpRequest& request,
                     sources::WebhookEvents message, UtcMillis now);
  /// The response to a message that is durable, or that its source has too many events for.
  http::HttpResponse finish(const sources::CompiledSource& source, const sync::IngestSummary& ingested,
                            const std::optional<std::string>& warning, UtcMillis now);

  std::map<std::string, sources::CompiledSource, std::less<>> sources_;
  sources::EventIngestor& ingestor_;
  sync::UrgentWriter& writer_;
  sources::SourceHealthMonitor& health_monitor_;
  const StatusWebhookOptions options_;
};

}  // namespace giftsync::handlers
