// daemon/sources: SES events through Amazon SNS: the certificate's signature over the message's fields, the
// confirmation of a subscription, and the SES event within (event publishing and feedback notifications
// alike).
#pragma once

#include <string>
#include <string_view>

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon {

WebhookMessage read_sns_message(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now,
                                const FetchText& fetch);

/// Whether a URL is https and of an SNS host: sns.<region>.amazonaws.com (or .com.cn), default port, no user.
bool is_sns_url(std::string_view url);

/// Whether a URL can be that of the certificate SNS signs with: of an SNS host, its path exactly
/// /SimpleNotificationService-<hex digits>.pem, and nothing after it.
bool is_sns_certificate_url(std::string_view url);

/// What SNS signs of a message: names and values, each followed by a line feed; empty for an unknown type.
std::string sns_signed_text(const JsonValue& message);

}  // namespace giftsync::daemon
