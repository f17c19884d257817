#include "daemon/sources/providers/sendgrid.h"

#include "daemon/sources/providers/provider_event.h"
#include "platform/digest.h"
#include "platform/public_key.h"

namespace giftsync::daemon::sources {
namespace {

/// SendGrid repeats a call for up to a day and does not document that it signs it again.
constexpr std::int64_t kMaxAgeMillis = 25 * platform::kHourMillis;

std::optional<WebhookRefusal> check_authenticity(const CompiledSource& source,
                                                 const http::HttpRequest& request, platform::UtcMillis now) {
  const auto timestamp = request.header("X-Twilio-Email-Event-Webhook-Timestamp");
  const auto text = request.header("X-Twilio-Email-Event-Webhook-Signature");
  const auto signature = text ? platform::from_base64_text(*text) : std::nullopt;
  const auto signed_at = timestamp ? sync::parse_event_time(*timestamp) : std::nullopt;
  if (!signature || !signed_at) return WebhookRefusal{"without timestamp and signature"};
  if (signed_at->value < now.value - kMaxAgeMillis ||
      signed_at->value > now.value + 5 * platform::kMinuteMillis)
    return WebhookRefusal{"signed too long ago, or in the future"};
  for (const config::Secret& secret : source.settings.secrets) {
    const auto key = platform::PublicKey::from_base64(secret.reveal());
    if (key && key->verifies(*timestamp + request.body, *signature, platform::SignatureHash::sha256))
      return std::nullopt;
  }
  return WebhookRefusal{"with a wrong signature"};
}

std::string status_of(ProviderEvent& event) {
  std::string name = event.text("/event");
  if (name == "delivered") return name;
  // Apple's privacy proxies load a mail's pictures before the recipient opens it (SRC-31).
  if (name == "open") return event.text("/sg_machine_open") == "true" ? "other" : "opened";
  // "blocked" bounces may still be delivered later; a dropped mail was never sent (SRC-30).
  const bool is_final = (name == "bounce" && event.text("/type") != "blocked") || name == "dropped";
  return is_final ? "bounced" : "other";
}

}  // namespace

WebhookMessage parse_sendgrid_message(const CompiledSource& source, const http::HttpRequest& request,
                                      platform::UtcMillis now) {
  if (auto refusal = check_authenticity(source, request, now)) return *refusal;
  const auto body = parse_json_body(request.body);
  if (!body) return body.error();
  const platform::JsonValue& root = body->root();
  if (!root.is_array()) return WebhookInvalidBody{std::nullopt, "the body is not a list of events"};
  if (root.elements().size() > kMaxEvents) return TooManyEvents{root.elements().size()};
  WebhookEvents message;
  for (const platform::JsonValue& element : root.elements()) {
    ProviderEvent event(element);
    std::string id = event.text(std::string("/") + kMessageIdArgument);
    if (id.empty() && event.fault().empty()) id = event.text("/smtp-id");
    message.events.push_back(mail_event(
        source, event, {id, status_of(event), event.text("/timestamp"), event.text("/sg_event_id")}));
  }
  return message;
}

}  // namespace giftsync::daemon::sources
