#include "daemon/sources/providers/postmark.h"

#include <algorithm>
#include <array>

#include "daemon/sources/providers/provider_event.h"
#include "daemon/sources/signature_check.h"

namespace giftsync::daemon::sources {
namespace {

/// Only these bounces are final. A soft bounce may still be delivered, and a complaint comes from a recipient
/// who has the mail. The last two were never sent; SMTPApiError: Postmark no longer mails to the address.
constexpr std::array<std::string_view, 8> kPermanentBounceTypes{
    "HardBounce",       "BadEmailAddress", "ManuallyDeactivated", "Blocked",
    "SpamNotification", "DMARCPolicy",     "SMTPApiError",        "TemplateRenderingFailed"};

bool is_permanent_bounce(const std::string& type) {
  return std::find(kPermanentBounceTypes.begin(), kPermanentBounceTypes.end(), type) !=
         kPermanentBounceTypes.end();
}

}  // namespace

WebhookMessage parse_postmark_message(const CompiledSource& source, const http::HttpRequest& request) {
  const SignatureResult login = check_basic(request, source.settings.secrets);
  if (!login.is_valid) return WebhookRefusal{login.why};
  const auto body = parse_json_body(request.body);
  if (!body) return body.error();
  ProviderEvent event(body->root());
  const std::string type = event.text("/RecordType");
  if (type.empty() && event.fault().empty())
    return WebhookInvalidBody{std::nullopt, "there is no RecordType"};
  MailEventFields fields{event.text(std::string("/Metadata/") + kMessageIdArgument), "other", "", ""};
  if (type == "Delivery") {
    fields.status = "delivered";
    fields.time = event.text("/DeliveredAt");
    fields.event_id = "delivery " + event.text("/MessageID");
  } else if (type == "Bounce") {
    if (is_permanent_bounce(event.text("/Type"))) fields.status = "bounced";
    fields.time = event.text("/BouncedAt");
    fields.event_id = "bounce " + event.text("/ID");
  } else if (type == "Open") {
    fields.status = "opened";
    fields.time = event.text("/ReceivedAt");
    fields.event_id = "open " + event.text("/MessageID");
  }
  WebhookEvents message;
  message.events.push_back(mail_event(source, event, fields));
  return message;
}

}  // namespace giftsync::daemon::sources
