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
  const platform::JsonValue& root = body->root();
  const std::string type = text_at(root, "/RecordType");
  if (type.empty()) return WebhookInvalidBody{std::nullopt, "there is no RecordType"};
  const std::string argument = text_at(root, std::string("/Metadata/") + kMessageIdArgument);
  const std::string postmark_id = text_at(root, "/MessageID");
  WebhookEvents message;
  if (type == "Delivery") {
    message.events.push_back(
        mail_event(source, argument, "delivered", text_at(root, "/DeliveredAt"), "delivery " + postmark_id));
  } else if (type == "Bounce") {
    const bool is_final = is_permanent_bounce(text_at(root, "/Type"));
    message.events.push_back(mail_event(source, argument, is_final ? "bounced" : "other",
                                        text_at(root, "/BouncedAt"), "bounce " + text_at(root, "/ID")));
  } else if (type == "Open") {
    message.events.push_back(
        mail_event(source, argument, "opened", text_at(root, "/ReceivedAt"), "open " + postmark_id));
  } else {
    message.events.push_back(mail_event(source, argument, "other", "", ""));
  }
  return message;
}

}  // namespace giftsync::daemon::sources
