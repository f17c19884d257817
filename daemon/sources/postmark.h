// daemon/sources: Postmark's modular webhooks (delivery, bounce, open): HTTP Basic, our argument in Metadata.
#pragma once

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon {

WebhookMessage read_postmark_message(const SourcePlan& plan, const HttpRequest& request);

}  // namespace giftsync::daemon
