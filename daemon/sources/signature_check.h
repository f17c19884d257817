// daemon/sources: verifies the signature of a message. Comparisons take the same time for every wrong
// signature; the response never says which secret failed (SRC-24).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/config/settings.h"
#include "daemon/http/http_message.h"
#include "platform/time.h"

namespace giftsync::daemon::sources {

/// Largest difference between a signed time and the local time.
inline constexpr std::int64_t kSignatureToleranceMillis = 5 * platform::kMinuteMillis;

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
                                       const std::vector<config::Secret>& secrets, platform::UtcMillis now);

/// HMAC-SHA256 of the body in `header`: hex or base64, with or without a scheme such as "sha256=" before it;
/// one or more, separated by commas or blanks. One right one suffices.
SignatureResult check_body_hmac(const http::HttpRequest& request, const std::string& header,
                                const std::vector<config::Secret>& secrets);

/// HTTP Basic; a secret is "user:password".
SignatureResult check_basic(const http::HttpRequest& request, const std::vector<config::Secret>& secrets);

}  // namespace giftsync::daemon::sources
