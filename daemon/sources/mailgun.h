// daemon/sources: Mailgun's webhooks: HMAC-SHA256 of timestamp and token in the body, our Message-ID in the
// event.
#pragma once

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon {

WebhookMessage read_mailgun_message(const SourcePlan& plan, const HttpRequest& request,
                                    schema::UtcMillis now);

}  // namespace giftsync::daemon
