// daemon/sources: SendGrid's signed event webhook: ECDSA over timestamp and body, a list of events, our
// argument in each of them, or our Message-ID in smtp-id.
#pragma once

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon {

WebhookMessage read_sendgrid_message(const SourcePlan& plan, const HttpRequest& request,
                                     schema::UtcMillis now);

}  // namespace giftsync::daemon
