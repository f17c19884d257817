// daemon/sources: parses one webhook call: verified or refused by its signature, and the inbound events in
// it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/http/http_message.h"
#include "daemon/sources/compiled_source.h"
#include "daemon/sources/kept_event.h"
#include "platform/strict_json.h"
#include "platform/time.h"

namespace giftsync::sources {

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
  std::optional<JsonError> json;
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
                                     UtcMillis now, const FetchUrl& fetch);

/// False when the message has no signature where its source's would be in the header: it will be refused.
bool may_be_signed(const CompiledSource& source, const http::HttpRequest& head);

// Verifies the signature of a message. Comparisons take the same time for every wrong
// signature; the response never says which secret failed (SRC-24).

/// Largest difference between a signed time and the local time.
inline constexpr std::int64_t kSignatureToleranceMillis = 5 * kMinuteMillis;

struct SignatureResult {
  bool is_valid = false;
  std::string why;  ///< of a rejected message, for the log: no secret, nothing of the body
  std::optional<std::string> message_id;  ///< of a valid message, when it has one
};

/// The value of a header of Standard Webhooks, `name` being id, timestamp or signature: webhook-<name>, or
/// svix-<name> in a message without webhook-id.
std::optional<std::string> standard_webhook_header(const http::HttpRequest& request, const std::string& name);

/// https://www.standardwebhooks.com: id, timestamp, and signature with one or more "v1,<base64>". Any of the
/// secrets may match any of the signatures.
SignatureResult check_standard_webhook(const http::HttpRequest& request,
                                       const std::vector<config::Secret>& secrets, UtcMillis now);

/// HMAC-SHA256 of the body in `header`: hex or base64, with or without a scheme such as "sha256=" before it;
/// one or more, separated by commas or blanks. One right one suffices.
SignatureResult check_body_hmac(const http::HttpRequest& request, const std::string& header,
                                const std::vector<config::Secret>& secrets);

/// HTTP Basic; a secret is "user:password".
SignatureResult check_basic(const http::HttpRequest& request, const std::vector<config::Secret>& secrets);

}  // namespace giftsync::sources
