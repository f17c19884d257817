// daemon/sources/providers: SES events through Amazon SNS: verifies the signature over the message's fields,
// confirms a subscription, and parses the SES event (event publishing and feedback notifications).
#pragma once

#include <string>
#include <string_view>

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon::sources {

WebhookMessage parse_sns_message(const CompiledSource& source, const http::HttpRequest& request,
                                 platform::UtcMillis now, const FetchUrl& fetch);

/// The only host whose certificates sign the messages of the topic with this ARN, such as
/// sns.eu-west-1.amazonaws.com. Never a host that the message names: sns.s3.amazonaws.com is a bucket's.
std::string sns_host_of(std::string_view topic_arn);

/// Whether a URL is https on `host`, default port, no user.
bool is_sns_url(std::string_view url, std::string_view host);

/// Whether a URL can be that of the SNS signing certificate: on `host`, with exactly the path
/// /SimpleNotificationService-<hex digits>.pem and nothing after it.
bool is_sns_certificate_url(std::string_view url, std::string_view host);
/// Of a URL that is_sns_url().
bool has_sns_certificate_path(std::string_view url);

/// The text that SNS signs: names and values, each followed by a line feed; empty for an unknown type.
std::string sns_signed_text(const platform::JsonValue& message);

}  // namespace giftsync::daemon::sources
