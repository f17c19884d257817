#include "daemon/sources/sendgrid.h"

#include "daemon/crypto/digest.h"
#include "daemon/crypto/public_key.h"
#include "daemon/sources/preset_report.h"

namespace giftsync::daemon {
namespace {

/// SendGrid repeats a call for up to a day, and does not say that it signs it anew.
constexpr std::int64_t kOldestMillis = 25 * schema::kHourMillis;

std::optional<WebhookRefusal> refusal_of(const SourcePlan& plan, const HttpRequest& request,
                                         schema::UtcMillis now) {
  const auto timestamp = request.header("X-Twilio-Email-Event-Webhook-Timestamp");
  const auto text = request.header("X-Twilio-Email-Event-Webhook-Signature");
  const auto signature = text ? from_base64_text(*text) : std::nullopt;
  const auto signed_at = timestamp ? read_time(*timestamp) : std::nullopt;
  if (!signature || !signed_at) return WebhookRefusal{"without timestamp and signature"};
  if (signed_at->value < now.value - kOldestMillis ||
      signed_at->value > now.value + 5 * schema::kMinuteMillis)
    return WebhookRefusal{"signed too long ago, or in the future"};
  for (const Secret& secret : plan.settings.secrets) {
    const auto key = PublicKey::from_base64(secret.reveal());
    if (key && key->verifies(*timestamp + request.body, *signature, SignatureHash::sha256))
      return std::nullopt;
  }
  return WebhookRefusal{"with a wrong signature"};
}

std::string word_of(const JsonValue& event) {
  std::string word = text_at(event, "/event");
  if (word == "delivered") return word;
  // Apple's privacy proxies load a mail's pictures before anybody has looked at it.
  if (word == "open") return text_at(event, "/sg_machine_open") == "true" ? "other" : "opened";
  // "blocked" bounces may still be delivered later; a dropped mail never left.
  const bool is_final = (word == "bounce" && text_at(event, "/type") != "blocked") || word == "dropped";
  return is_final ? "bounced" : "other";
}

}  // namespace

WebhookMessage read_sendgrid_message(const SourcePlan& plan, const HttpRequest& request,
                                     schema::UtcMillis now) {
  if (auto refusal = refusal_of(plan, request, now)) return *refusal;
  auto read = json_of(request.body);
  if (auto* garbage = std::get_if<WebhookGarbage>(&read)) return std::move(*garbage);
  const JsonValue& root = std::get<JsonDocument>(read).root();
  if (!root.is_array()) return WebhookGarbage{std::nullopt, "the body is no list of events"};
  if (root.elements().size() > kMaxReports) return TooManyReports{root.elements().size()};
  WebhookReports message;
  for (const JsonValue& event : root.elements()) {
    std::string id = text_at(event, std::string("/") + kMailArgument);
    if (id.empty()) id = text_at(event, "/smtp-id");
    message.reports.push_back(
        mail_report(plan, id, word_of(event), text_at(event, "/timestamp"), text_at(event, "/sg_event_id")));
  }
  return message;
}

}  // namespace giftsync::daemon
