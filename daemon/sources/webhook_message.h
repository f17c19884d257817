// daemon/sources: what one webhook call says: let in or refused by its signature, and the raw reports in it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "daemon/http/http_message.h"
#include "daemon/http/strict_json.h"
#include "daemon/sources/report_extraction.h"
#include "daemon/sources/source_plan.h"
#include "schema/time.h"

namespace giftsync::daemon {

struct WebhookRefusal {
  std::string why;  ///< "with a wrong signature"
};
/// Neither let in nor refused: what is needed to check the message cannot be had now. It is to be sent again.
struct WebhookNotNow {
  std::string why;  ///< a sentence
};
struct WebhookWrongType {
  std::string why;
};
struct WebhookGarbage {
  std::optional<JsonFault> json;
  std::string why;  ///< a sentence
};
struct WebhookReports {
  std::vector<RawReport> reports;
  std::optional<std::string> message_id;
  /// What people should look at, though the message is taken; empty: there is nothing any more. Absent: the
  /// message says nothing of it.
  std::optional<std::string> doubt = {};
};
using WebhookMessage = std::variant<WebhookReports, WebhookRefusal, WebhookNotNow, WebhookWrongType,
                                    WebhookGarbage, TooManyReports>;

/// GET of a URL for a preset that needs one (SNS certificates, confirmations); nullopt when it fails.
using FetchText = std::function<std::optional<std::string>(const std::string& url)>;

/// Signature, type and form, in this order. `request` holds its whole body.
WebhookMessage read_webhook_message(const SourcePlan& plan, const HttpRequest& request, schema::UtcMillis now,
                                    const FetchText& fetch);

}  // namespace giftsync::daemon
