// daemon/sources/providers: SendGrid's signed event webhook: ECDSA over timestamp and body, a list of events,
// giftsync's argument in each of them or its Message-ID in smtp-id.
#pragma once

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon::sources {

WebhookMessage parse_sendgrid_message(const CompiledSource& source, const http::HttpRequest& request,
                                      platform::UtcMillis now);

}  // namespace giftsync::daemon::sources
