// daemon/sources/providers: Postmark's modular webhooks (delivery, bounce, open): HTTP Basic, giftsync's
// argument in Metadata.
#pragma once

#include "daemon/sources/webhook_message.h"

namespace giftsync::daemon::sources {

WebhookMessage parse_postmark_message(const CompiledSource& source, const http::HttpRequest& request);

}  // namespace giftsync::daemon::sources
