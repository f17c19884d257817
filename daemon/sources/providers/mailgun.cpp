#include "daemon/sources/providers/mailgun.h"

#include "daemon/sources/providers/provider_event.h"
#include "daemon/sources/signature_check.h"
#include "platform/digest.h"

namespace giftsync::daemon::sources {
namespace {

/// Mailgun repeats a call for up to eight hours, each time with the first signature.
constexpr std::int64_t kMaxAgeMillis = 9 * platform::kHourMillis;

/// Lengths in Mailgun's documentation. Timestamp and token are signed as one text, so the boundary between
/// them must be fixed (SRC-34).
constexpr std::size_t kTimestampDigits = 10;
constexpr std::size_t kTokenBytes = 50;

std::optional<WebhookRefusal> check_authenticity(const CompiledSource& source,
                                                 const platform::JsonValue& root, platform::UtcMillis now) {
  const std::string timestamp = text_at(root, "/signature/timestamp");
  const std::string token = text_at(root, "/signature/token");
  const std::string signature = text_at(root, "/signature/signature");
  const bool is_well_formed = timestamp.size() == kTimestampDigits &&
                              timestamp.find_first_not_of("0123456789") == std::string::npos &&
                              token.size() == kTokenBytes;
  const auto signed_at = is_well_formed ? sync::parse_event_time(timestamp) : std::nullopt;
  if (!signed_at || signature.empty()) return WebhookRefusal{"without timestamp, token and signature"};
  if (signed_at->value < now.value - kMaxAgeMillis ||
      signed_at->value > now.value + kSignatureToleranceMillis)
    return WebhookRefusal{"signed too long ago, or in the future"};
  bool is_good = false;
  for (const config::Secret& secret : source.settings.secrets) {
    const std::string expected = platform::to_hex(platform::hmac_sha256(secret.reveal(), timestamp + token));
    if (platform::equal_in_constant_time(expected, signature)) is_good = true;
  }
  if (!is_good) return WebhookRefusal{"with a wrong signature"};
  return std::nullopt;
}

std::string status_of(ProviderEvent& read) {
  std::string event = read.text("/event-data/event");
  if (event == "delivered") return event;
  // The bot (apple, gmail, generic) is a proxy or scanner that loaded the pictures; empty for a person
  // (SRC-31).
  if (event == "opened") return read.text("/event-data/client-info/bot").empty() ? event : "other";
  const bool is_final =
      event == "rejected" || (event == "failed" && read.text("/event-data/severity") == "permanent");
  return is_final ? "bounced" : "other";
}

}  // namespace

WebhookMessage parse_mailgun_message(const CompiledSource& source, const http::HttpRequest& request,
                                     platform::UtcMillis now) {
  const auto body = parse_json_body(request.body);
  // A body that cannot be parsed has no signature either.
  if (!body) return WebhookRefusal{"without a signature"};
  const platform::JsonValue& root = body->root();
  if (auto refusal = check_authenticity(source, root, now)) return *refusal;
  ProviderEvent event(root);
  if (event.text("/event-data/event").empty() && event.fault().empty())
    return WebhookInvalidBody{std::nullopt, "there is no event-data"};
  WebhookEvents message;
  // The signature does not cover the event: a token that was used with one event must not admit another.
  message.message_id = text_at(root, "/signature/token");
  message.events.push_back(mail_event(source, event,
                                      {event.text("/event-data/message/headers/message-id"), status_of(event),
                                       event.text("/event-data/timestamp"), event.text("/event-data/id")}));
  return message;
}

}  // namespace giftsync::daemon::sources
