// daemon/sources: whether a message is from who it says it is. Comparisons take the same time for every wrong
// signature; which secret was wrong is never told.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/http/http_message.h"
#include "daemon/settings/settings.h"
#include "schema/time.h"

namespace giftsync::daemon {

/// How far a signed time may be from ours.
inline constexpr std::int64_t kSignatureToleranceMillis = 5 * schema::kMinuteMillis;

struct SignatureOutcome {
  bool good = false;
  std::string why;                        ///< of a bad one, for the log: no secret, nothing of the body
  std::optional<std::string> message_id;  ///< of a good one, when the message has one
};

/// https://www.standardwebhooks.com: webhook-id, webhook-timestamp, webhook-signature with one or more
/// "v1,<base64>". Any of the secrets may have made any of the signatures.
SignatureOutcome check_standard_webhook(const HttpRequest& request, const std::vector<Secret>& secrets,
                                        schema::UtcMillis now);

/// HMAC-SHA256 of the body in `header`: hex or base64, with or without "sha256=" before it.
SignatureOutcome check_body_hmac(const HttpRequest& request, const std::string& header,
                                 const std::vector<Secret>& secrets);

/// HTTP Basic; a secret is "user:password".
SignatureOutcome check_basic(const HttpRequest& request, const std::vector<Secret>& secrets);

}  // namespace giftsync::daemon
