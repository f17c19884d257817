// daemon/sources: parses one webhook call: verified or refused by its signature, and the inbound events in
// it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/http/http_message.h"
#include "daemon/sources/compiled_source.h"
#include "daemon/sources/event_extraction.h"
#include "platform/strict_json.h"
#include "platform/time.h"

namespace giftsync::daemon::sources {

struct WebhookRefusal {
  std::string why;  ///< "with a wrong signature"
};
/// Neither accepted nor refused: what is needed to verify the message is unavailable now. The sender should
/// repeat it.
struct WebhookTemporaryFailure {
  std::string why;  ///< a sentence
  /// False: anyone can have sent the message, so it says nothing about the source (SEC-3).
  bool is_verified = false;
};
struct WebhookUnsupportedType {
  std::string why;
};
struct WebhookInvalidBody {
  std::optional<platform::JsonError> json;
  std::string why;  ///< a sentence
};
struct WebhookEvents {
  std::vector<sync::InboundEvent> events;
  std::optional<std::string> message_id;
  /// A warning for the operator although the message was accepted; empty: the earlier warning is over.
  /// Absent: the message says nothing about it.
  std::optional<std::string> warning = {};
};
using WebhookMessage = std::variant<WebhookEvents, WebhookRefusal, WebhookTemporaryFailure,
                                    WebhookUnsupportedType, WebhookInvalidBody, TooManyEvents>;

/// GETs a URL for a preset that needs one (SNS certificates, confirmations); nullopt when it fails.
using FetchUrl = std::function<std::optional<std::string>(const std::string& url)>;
/// The same for a message that `client`, a numeric address, has sent.
using FetchUrlFor =
    std::function<std::optional<std::string>(const std::string& url, const std::string& client)>;

/// Checks signature, type and body, in this order (SRC-23). `request` has its whole body. Every result but a
/// refusal and a temporary failure has a verified sender.
WebhookMessage parse_webhook_message(const CompiledSource& source, const http::HttpRequest& request,
                                     platform::UtcMillis now, const FetchUrl& fetch);

/// False when the message has no signature where its source's would be in the header: it will be refused.
bool may_be_signed(const CompiledSource& source, const http::HttpRequest& head);

}  // namespace giftsync::daemon::sources
