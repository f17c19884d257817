// daemon/sources/providers: Mailgun's webhooks: HMAC-SHA256 of timestamp and token in the body, giftsync's
// Message-ID in the event.
#pragma once

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon::sources {

WebhookMessage parse_mailgun_message(const CompiledSource& source, const http::HttpRequest& request,
                                     platform::UtcMillis now);

}  // namespace giftsync::daemon::sources
